// The contents: what is read is marked, and on a phone they fold away once something is chosen.

function startNavigation() {
  const side = document.querySelector('.side');
  const links = new Map(all('a[href^="#"]', side).map(link => [link.hash.slice(1), link]));
  const parts = all('[data-part]');
  const demo = document.getElementById('demo');
  if (demo) {
    const link = make('a', { href: '#demo' }, 'Your workspace');
    links.get('overview').parentElement.after(make('li', {}, link));
    links.set('demo', link);
  }
  let current = null;
  let waiting = false;
  const mark = () => {
    waiting = false;
    // The last part that begins in the upper third is the one that is read; an area contains its operations.
    let found = parts[0];
    for (const part of parts) {
      if (part.getBoundingClientRect().top < innerHeight / 3) found = part;
    }
    const link = links.get(found.id);
    if (!link || link === current) return;
    current?.removeAttribute('aria-current');
    link.setAttribute('aria-current', 'true');
    current = link;
    if (side.scrollHeight > side.clientHeight) {
      const box = link.getBoundingClientRect(), frame = side.getBoundingClientRect();
      if (box.top < frame.top + 60 || box.bottom > frame.bottom - 60) side.scrollTop += box.top - frame.top - frame.height / 3;
    }
  };
  addEventListener('scroll', () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
  addEventListener('resize', mark);
  side.addEventListener('click', event => {
    if (event.target.closest('a')) document.getElementById('menu').checked = false;
  });
  mark();
}
