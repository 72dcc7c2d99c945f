// Light or dark: the system's setting, unless the user chose.

import { find, setText } from './dom.js';

const THEMES = ['auto', 'light', 'dark'];
const KEPT = 'incumbent-playground-theme';

export function offerThemes() {
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

// A browser may keep nothing for this page; then the choice lasts until the page is closed.
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
