// The theme is set before the page is painted. It is light, dark or, if none was chosen, the system's.
'use strict';
document.documentElement.dataset.theme = localStorage.getItem('theme') || '';
