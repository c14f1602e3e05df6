// What is wrong with the layout of a page. inspect runs in the page, so it uses nothing from outside of it.

// inspect returns what looks broken in a window of the given width, and the height of the page. It needs the width, because a
// phone's innerWidth is that of the content. It opens all details elements at once, except menus, which open over the page. It
// opens these one at a time.
export function inspect({ width, focus }) {
  const problems = new Set();
  const slack = 1; // fractions of a pixel

  // name describes an element to a person who looks for it.
  const name = element => {
    const part = e => e.localName + (e.id ? `#${e.id}` : '') + [...e.classList].slice(0, 3).map(c => `.${c}`).join('');
    const text = (element.getAttribute('aria-label') || element.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 30);
    return `${element.parentElement ? `${part(element.parentElement)} > ` : ''}${part(element)}${text ? ` “${text}”` : ''}`;
  };

  const styles = new Map();
  const style = element => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };

  // visible reports whether a person sees the element. The skip link and texts for screen readers are off screen on purpose.
  const offCache = new Map();
  const off = element => {
    if (!element) return false;
    if (!offCache.has(element)) offCache.set(element, element.matches('.skip') || style(element).clipPath !== 'none' || off(element.parentElement));
    return offCache.get(element);
  };
  const shownCache = new Map();
  const visible = element => {
    if (!shownCache.has(element)) shownCache.set(element, element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !off(element));
    return shownCache.get(element);
  };

  // clip returns the area in which an element can be seen. Ancestors that scroll or hide what does not fit limit this area.
  const everything = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const cut = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const clips = new Map();
  const clip = element => {
    if (!element || element === document.documentElement || element === document.body) return everything;
    if (clips.has(element)) return clips.get(element);
    const fixed = style(element).position === 'absolute' ? element.offsetParent : element.parentElement;
    let area = clip(fixed);
    if (style(element).overflowX !== 'visible' && element instanceof HTMLElement) area = cut(area, element.getBoundingClientRect());
    clips.set(element, area);
    return area;
  };
  const seen = (box, element) => cut(box, clip(element));
  const empty = box => box.right - box.left < 1 || box.bottom - box.top < 1;

  // texts returns the boxes of the visible text: one for each line, and one for each control.
  const texts = (root, skipped) => {
    const out = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node =>
      node.nodeType === Node.ELEMENT_NODE && (!visible(node) || skipped?.includes(node)) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.matches('input:not([type=hidden]), textarea, select, button, .button')) out.push({ element: node, box: seen(node.getBoundingClientRect(), node), control: true });
        continue;
      }
      const element = node.parentElement;
      if (node.data.trim() === '' || element.closest('option, script, style')) continue;
      range.selectNodeContents(node);
      const lines = [...range.getClientRects()].filter(r => r.width > 0.5);
      for (const line of lines) {
        // The box of a line is taller than its letters.
        const rim = line.height * 0.2;
        const box = seen({ left: line.left + 0.5, right: line.right - 0.5, top: line.top + rim, bottom: line.bottom - rim }, element);
        if (!empty(box)) out.push({ element, node, box, lines: lines.length, chart: element.closest('svg') });
      }
    }
    return out;
  };

  const within = root => {
    for (const element of root.querySelectorAll('*')) {
      if (!visible(element) || ['SCRIPT', 'OPTION', 'BR'].includes(element.tagName)) continue;
      const box = seen(element.getBoundingClientRect(), element.parentElement);
      if (empty(box)) continue;
      if (box.right > width + slack) problems.add(`${name(element)} ends ${Math.round(box.right - width)} px right of the window`);
      else if (box.left < -slack) problems.add(`${name(element)} begins ${Math.round(-box.left)} px left of the window`);
      else if (box.top + scrollY < -slack) problems.add(`${name(element)} begins above the page`);
    }
  };

  const apart = all => {
    all.sort((a, b) => a.box.top - b.box.top);
    for (let i = 0; i < all.length; i++) {
      const a = all[i];
      for (let j = i + 1; j < all.length && all[j].box.top < a.box.bottom; j++) {
        const b = all[j];
        const both = cut(a.box, b.box);
        if (both.right - both.left < 1 || both.bottom - both.top < 1) continue;
        if (a.node && a.node === b.node || a.chart && a.chart === b.chart) continue;
        if (a.control && a.element.contains(b.element) || b.control && b.element.contains(a.element)) continue; // a button's label
        if (a.control && b.control && (a.element.type === 'checkbox' || b.element.type === 'checkbox')) continue;
        problems.add(`${name(a.element)} and ${name(b.element)} overlap`);
      }
    }
  };

  // room checks that text wraps between words, in lines of at least eight characters.
  const canvas = new OffscreenCanvas(1, 1).getContext('2d');
  const eight = element => {
    canvas.font = style(element).font;
    return canvas.measureText('nnnnnnnn').width;
  };
  const room = all => {
    const done = new Set();
    const range = document.createRange();
    for (const t of all) {
      if (t.control) {
        if (!t.element.matches('select, textarea, input:not([type=checkbox], [type=radio])')) continue;
        const s = style(t.element);
        if (t.element.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) < eight(t.element) - slack) problems.add(`${name(t.element)} has no room for eight characters`);
        continue;
      }
      if (t.lines < 2 || t.chart || done.has(t.node)) continue;
      done.add(t.node);
      let block = t.element;
      while (style(block).display === 'inline') block = block.parentElement;
      const s = style(block);
      if (block.clientWidth > 0 && block.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) < eight(t.element)) {
        problems.add(`${name(t.element)} wraps in lines of less than eight characters`);
        continue;
      }
      if (t.element.closest('pre, code')) continue;
      for (const word of t.node.data.slice(0, 400).matchAll(/(?<![\p{L}\p{M}\p{N}_./:@-])[A-Za-z]{2,12}(?![\p{L}\p{M}\p{N}_./:@-])/gu)) {
        range.setStart(t.node, word.index);
        range.setEnd(t.node, word.index + word[0].length);
        const pieces = [...range.getClientRects()].filter(r => !empty(seen(r, t.element))).map(r => Math.round(r.top)); // an ellipsis splits a word into two boxes on one line
        if (new Set(pieces).size > 1) { problems.add(`${name(t.element)} breaks the word “${word[0]}”`); break; }
      }
    }
  };

  // outlined checks that a person sees where the focus is. Elements of one kind are checked once.
  const opaque = colour => {
    const parts = colour.match(/[\d.]+/g);
    return parts && (parts.length < 4 || Number(parts[3]) > 0.5) ? parts.slice(0, 3).map(Number) : null;
  };
  const luminance = rgb => rgb.map(c => c / 255).map(c => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = opaque(getComputedStyle(e).backgroundColor);
      if (colour) return colour;
    }
    return [255, 255, 255];
  };
  const outlined = root => {
    const kinds = new Set();
    const before = document.activeElement;
    for (const element of root.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')) {
      if (element.disabled || !visible(element) && !(element.matches('.skip') && element.checkVisibility())) continue;
      const kind = [element, element.parentElement, element.parentElement?.parentElement].map(e => e && `${e.localName}.${e.className.baseVal ?? e.className}.${e.type ?? ''}`).join(' ');
      if (kinds.has(kind)) continue;
      kinds.add(kind);
      element.focus({ preventScroll: true, focusVisible: true });
      if (document.activeElement !== element) { problems.add(`${name(element)} cannot be focused`); continue; }
      const shows = [element, ...element.querySelectorAll('*')].some(e => {
        const s = getComputedStyle(e);
        const thick = parseFloat(s.outlineWidth);
        const colour = opaque(s.outlineColor);
        if (s.outlineStyle === 'none' || thick < 1 || !colour) return false;
        const [light, dark] = [luminance(colour), luminance(ground(element.parentElement))].sort((a, b) => b - a);
        if ((light + 0.05) / (dark + 0.05) < 3) return false;
        // An ancestor that hides what does not fit hides an outline, too.
        const inner = parseFloat(s.outlineOffset);
        const box = e.getBoundingClientRect();
        const area = clip(e.parentElement);
        const sides = [box.left - inner - thick / 2 > area.left, box.right + inner + thick / 2 < area.right, box.top - inner - thick / 2 > area.top, box.bottom + inner + thick / 2 < area.bottom];
        return sides.filter(Boolean).length >= 2;
      });
      if (!shows) problems.add(`${name(element)} has no visible outline in focus`);
    }
    if (before instanceof HTMLElement && before !== document.body) before.focus({ preventScroll: true });
    else document.activeElement?.blur();
  };

  // rules checks elements one by one: tabs must be in one row, controls large enough to hit, and the queries of links complete.
  const rules = root => {
    for (const group of root.querySelectorAll('nav.group')) {
      if (style(group).borderTopWidth === '0px') continue; // tabs that are not joined may wrap
      const tops = new Set([...group.querySelectorAll('a')].filter(visible).map(link => Math.round(link.getBoundingClientRect().top)));
      if (tops.size > 1) problems.add(`${name(group)} has ${tops.size} rows of tabs`);
    }
    for (const control of root.querySelectorAll('input:not([type=hidden]), button, select, summary, .button')) {
      if (!visible(control)) continue;
      const box = ['checkbox', 'radio'].includes(control.type);
      const target = (box && control.closest('label') || control).getBoundingClientRect();
      const least = 24 - slack / 2 - (box ? parseFloat(style(control).marginTop) + parseFloat(style(control).marginBottom) : 0); // a margin keeps other targets away
      if (target.height > 0 && (target.height < least || target.width < least)) problems.add(`${name(control)} is ${Math.round(target.width)} x ${Math.round(target.height)} px, and 24 x 24 can be hit`);
    }
    for (const link of root.querySelectorAll('a[href]')) {
      if (/\?[^=&]+$/.test(link.getAttribute('href'))) problems.add(`the link ${link.getAttribute('href')} has no value in its query`);
    }
  };

  // A menu opens over the page.
  const all = [...document.querySelectorAll('details')];
  for (const details of all) details.open = true;
  const content = details => [...details.children].filter(child => child.localName !== 'summary');
  const menus = all.filter(details => content(details).some(child => getComputedStyle(child).position === 'absolute') || details.matches('.menu'));
  for (const details of menus) details.open = false;

  const height = document.documentElement.scrollHeight;
  if (document.documentElement.scrollWidth > width) problems.add(`the page is ${document.documentElement.scrollWidth - width} px wider than the window`);
  within(document.body);
  const boxes = texts(document.body);
  apart(boxes);
  room(boxes);
  rules(document.body);
  if (focus) outlined(document.body);
  // The menus of a list are alike; the last one is the closest to the edge.
  for (const details of new Set([menus[0], menus[1], menus.at(-1)])) {
    if (!details || !visible(details)) continue;
    details.open = true;
    for (const cache of [styles, offCache, shownCache, clips]) cache.clear();
    const parts = content(details).filter(visible);
    const over = document.documentElement.scrollWidth - width;
    if (over > 0) problems.add(`the open menu ${name(details)} makes the page ${over} px wider than the window`);
    within(details);
    for (const part of parts) {
      const box = part.getBoundingClientRect();
      const inside = texts(part);
      for (const t of inside) if (t.box.right > box.right + slack || t.box.left < box.left - slack) problems.add(`${name(t.element)} spills out of its menu`);
      apart(inside);
      room(inside);
      rules(part);
      if (focus) outlined(part);
    }
    details.open = false;
    for (const cache of [styles, offCache, shownCache, clips]) cache.clear();
  }
  return { problems: [...problems], height };
}
