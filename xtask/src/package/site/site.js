// Tables that are wider than the page can be scrolled with the keyboard.
'use strict';
(() => {
  const wide = () => {
    for (const table of document.querySelectorAll('.table-wrapper')) {
      if (table.scrollWidth > table.clientWidth) {
        table.tabIndex = 0;
        table.setAttribute('role', 'region');
        table.setAttribute('aria-label', 'Table, scrolls sideways');
      } else {
        for (const name of ['tabindex', 'role', 'aria-label']) table.removeAttribute(name);
      }
    }
  };
  addEventListener('load', wide);
  addEventListener('resize', wide);
})();
