// The key of this tab: that of the demo company on one's own machine, or what somebody types.

function startKey() {
  const demo = document.getElementById('demo-key');
  if (demo) {
    session.key = demo.textContent;
    session.company = document.getElementById('demo-company').textContent;
    session.demo = true;
  }
  const button = document.getElementById('key-button');
  button.addEventListener('click', askForKey);
  showKey();
}

function showKey() {
  const button = document.getElementById('key-button');
  button.textContent = session.demo ? 'Demo key' : session.key ? 'Key: set' : 'Set a key';
  document.dispatchEvent(new Event('key'));
}

// askForKey opens the dialogue. There is no form and no name on the field, so that no browser offers to keep it.
function askForKey() {
  const input = make('input', { type: 'password', id: 'key-field', autocomplete: 'off', spellcheck: 'false', placeholder: 'sk_live_…' });
  const take = () => {
    const key = input.value.trim();
    input.value = '';
    dialog.close();
    if (key) Object.assign(session, { key, company: '', demo: false });
    showKey();
  };
  input.addEventListener('keydown', event => { if (event.key === 'Enter') take(); });
  const dialog = make('dialog', { 'aria-labelledby': 'key-title', close() { dialog.remove(); } },
    make('h2', { id: 'key-title' }, 'A key for this tab'),
    make('p', {}, 'It is kept in the memory of this tab only, sent to this server only, and gone when the tab is loaded again. Use a test company’s key with as few scopes as you need.'),
    make('label', {}, 'Secret key', input),
    make('div', { class: 'row' },
      session.key ? make('button', { type: 'button', click() { Object.assign(session, { key: '', company: '', demo: false }); dialog.close(); showKey(); } }, 'Forget the key') : null,
      make('button', { type: 'button', click() { dialog.close(); } }, 'Cancel'),
      make('button', { type: 'button', class: 'solid', click: take }, 'Use it')));
  document.body.append(dialog);
  dialog.showModal();
}

// confirmed asks before something is changed.
function confirmed(method, path, destructive) {
  return new Promise(resolve => {
    let answer = false;
    const dialog = make('dialog', { 'aria-labelledby': 'sure-title', close() { dialog.remove(); resolve(answer); } },
      make('h2', { id: 'sure-title' }, destructive ? 'Do this for good?' : 'Change records?'),
      make('p', {}, 'This sends ', make('code', {}, `${method} ${path}`), ` and ${destructive ? 'cannot be taken back' : 'changes records of the key’s company'}.`),
      make('div', { class: 'row' },
        make('button', { type: 'button', autofocus: true, click() { dialog.close(); } }, 'Cancel'),
        make('button', { type: 'button', class: destructive ? 'solid danger' : 'solid', click() { answer = true; dialog.close(); } }, 'Send')));
    document.body.append(dialog);
    dialog.showModal();
  });
}
