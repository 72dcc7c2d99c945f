// Small helpers that make and change elements. An element that needs no change is not touched.

const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes and children. */
export function make(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function draw(name, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const find = (id) => document.getElementById(id);

export function setText(element, text) {
  const shown = String(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function set(element, name, value) {
  const shown = String(value);
  if (element.getAttribute(name) !== shown) element.setAttribute(name, shown);
}

export function setFlag(element, name, isSet) {
  if (element.hasAttribute(name) !== isSet) element.toggleAttribute(name, isSet);
}
