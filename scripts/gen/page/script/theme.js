// The theme: the system's, until the reader chooses for this tab.

function startTheme() {
  const button = document.getElementById('theme-button');
  const themes = ['auto', 'light', 'dark'];
  let at = 0;
  const show = () => {
    document.documentElement.dataset.theme = themes[at];
    button.textContent = `Theme: ${themes[at]}`;
  };
  button.addEventListener('click', () => { at = (at + 1) % themes.length; show(); });
  show();
}
