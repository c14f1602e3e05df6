// The posts of a month, on the days on which they are due or went out.

async function calendarPanel(heading, body) {
  const posts = (await read('/broadcast/posts?limit=200')).items.filter(p => p.scheduledFor ?? p.publishedAt)
    .map(p => ({ ...p, at: new Date(p.publishedAt ?? p.scheduledFor) }));
  if (posts.length === 0) {
    body.append(make('p', {}, 'No post has a time yet.'));
    return;
  }
  const months = [...new Set(posts.map(p => p.at.toISOString().slice(0, 7)))].sort();
  const next = posts.filter(p => p.status === 'scheduled').map(p => p.at.toISOString().slice(0, 7)).sort()[0];
  let at = Math.max(0, months.indexOf(next ?? months.at(-1)));
  const title = make('span');
  const show = () => {
    title.textContent = new Date(`${months[at]}-01T00:00:00Z`).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    back.disabled = at === 0;
    forth.disabled = at === months.length - 1;
    body.replaceChildren(monthOf(months[at], posts));
  };
  const back = make('button', { type: 'button', class: 'line', 'aria-label': 'An earlier month', click() { at--; show(); } }, '←');
  const forth = make('button', { type: 'button', class: 'line', 'aria-label': 'A later month', click() { at++; show(); } }, '→');
  heading.append(title, make('span', { class: 'turn' }, back, forth));
  show();
}

// monthOf is a table of weeks, which begin on Monday.
function monthOf(month, posts) {
  const first = new Date(`${month}-01T00:00:00Z`);
  const begin = new Date(first);
  begin.setUTCDate(1 - (first.getUTCDay() + 6) % 7);
  const table = make('table', { class: 'month' }, make('thead', {}, make('tr', {}, ...['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].map(name => make('th', { scope: 'col' }, name)))));
  const rows = make('tbody');
  for (const date = begin; date.toISOString().slice(0, 7) <= month;) {
    const row = make('tr');
    for (let i = 0; i < 7; i++) {
      const name = date.toISOString().slice(0, 10);
      const due = posts.filter(p => p.at.toISOString().startsWith(name)).sort((a, b) => a.at - b.at);
      row.append(make('td', { class: `${name.startsWith(month) ? '' : 'other'} ${due.length ? '' : 'empty'}` }, make('b', {}, String(date.getUTCDate())),
        due.length ? make('ul', {}, ...due.map(p => make('li', { class: p.status, title: `${p.at.toISOString().slice(11, 16)} ${p.status}: ${p.body ?? ''}` }, `${p.platform} ${p.title ?? p.body ?? ''}`))) : null));
      date.setUTCDate(date.getUTCDate() + 1);
    }
    rows.append(row);
  }
  table.append(rows);
  return table;
}
