// The examples: buttons that copy, one language for all of them, and the address of this very service.

function startExamples() {
  for (const place of all('[data-base]')) place.textContent = base;
  if (session.demo) {
    for (const place of all('[data-demo="company"]')) place.textContent = session.company;
  }
  for (const panel of all('.code')) {
    const shown = () => all('pre', panel).find(pre => pre.offsetParent !== null) ?? panel.querySelector('pre');
    const quick = panel.querySelector('#quick-code');
    panel.append(copyButton(() => {
      const text = shown().textContent;
      return quick && session.demo ? text.replace('sk_live_…', session.key) : text;
    }, 'Copy the example'));
  }
  // One choice is for all examples; what the reader looks at must not move.
  document.addEventListener('change', event => {
    const chosen = event.target;
    if (!chosen.matches('.tabs input')) return;
    const before = chosen.parentElement.getBoundingClientRect().top;
    for (const other of all(`.tabs input[value="${chosen.value}"]`)) other.checked = true;
    scrollBy({ top: chosen.parentElement.getBoundingClientRect().top - before, behavior: 'instant' });
  });
}
