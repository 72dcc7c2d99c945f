// Light or dark: the system's setting, unless the user chose; in a frame, the theme of the page around it.

import { find, setText } from './dom.js';

const THEMES = ['auto', 'light', 'dark'];
const KEPT = 'incumbent-playground-theme';

/** The themes of mdBook, whose name is a class of the page around. */
const DARK = ['ayu', 'coal', 'navy'];

export function offerThemes() {
  const around = framedBy();
  if (around) {
    follow(around);
    return;
  }
  const button = find('theme');
  let theme = THEMES.includes(kept()) ? kept() : 'auto';
  const show = () => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    setText(button, `Theme: ${theme}`);
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    keep(theme);
    show();
  });
  show();
}

/** The page around this one, if it may be read. */
function framedBy() {
  if (window.parent === window) return undefined;
  document.documentElement.dataset.framed = '';
  try {
    return window.parent.document.documentElement;
  } catch {
    return undefined;
  }
}

function follow(around) {
  const show = () => {
    document.documentElement.dataset.theme = DARK.some((name) => around.classList.contains(name)) ? 'dark' : 'light';
  };
  new MutationObserver(show).observe(around, { attributes: true, attributeFilter: ['class'] });
  show();
}

// A browser may refuse to store anything for this page; then the choice lasts until the page is closed.
function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return undefined;
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // See above.
  }
}
