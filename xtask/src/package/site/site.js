// Tables and drawings that are wider than the page can be scrolled with the keyboard.
'use strict';
(() => {
  const names = { 'table-wrapper': 'Table', picture: 'Drawing' };
  const wide = () => {
    for (const [name, title] of Object.entries(names)) {
      for (const part of document.querySelectorAll(`.${name}`)) {
        if (part.scrollWidth > part.clientWidth) {
          part.tabIndex = 0;
          part.setAttribute('role', 'region');
          part.setAttribute('aria-label', `${title}, scrolls sideways`);
        } else {
          for (const attribute of ['tabindex', 'role', 'aria-label']) part.removeAttribute(attribute);
        }
      }
    }
  };
  // The label with which the book enlarges a drawing.
  for (const label of document.querySelectorAll('.content p > .checkbox-label:only-child')) {
    label.parentElement.classList.add('picture');
  }
  addEventListener('load', wide);
  addEventListener('resize', wide);
})();
