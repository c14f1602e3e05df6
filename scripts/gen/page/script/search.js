// The search goes through names, paths, scopes, summaries and fields of everything on the page.

function startSearch() {
  const input = document.getElementById('search');
  const found = document.getElementById('found');
  const side = document.querySelector('.side .links');
  const entries = all('li', side).map(item => {
    const part = document.getElementById(item.querySelector('a').hash.slice(1));
    const names = [part.id, part.dataset.path, item.textContent].join(' ');
    const words = all('p, .fields code, th, .marks', part).slice(0, 200).map(e => e.textContent).join(' ');
    return { item, names: names.toLowerCase(), text: `${names} ${part.matches('.operation, .chapter') ? words : ''}`.toLowerCase() };
  });
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let matches = 0;
    // What is called so comes alone; only a word that nothing is called is looked for in the texts.
    const called = entries.some(e => words.every(w => e.names.includes(w)));
    for (const e of entries) {
      e.item.hidden = !words.every(w => (called ? e.names : e.text).includes(w));
      if (!e.item.hidden) matches++;
    }
    for (const heading of all('h2', side)) heading.hidden = all('li', heading.nextElementSibling).every(item => item.hidden);
    found.textContent = words.length === 0 ? '' : matches === 1 ? '1 match' : `${matches} matches`;
  };
  input.addEventListener('input', filter);
  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') { input.value = ''; filter(); input.blur(); }
    if (event.key === 'Enter') entries.find(e => !e.item.hidden)?.item.querySelector('a').click();
  });
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
    event.preventDefault();
    document.getElementById('menu').checked = true;
    input.focus();
  });
}
