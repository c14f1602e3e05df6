// One metric over time: a small plot, and what it says in words.

async function metricPanel(heading, body) {
  const definitions = (await read('/metrics/definitions?limit=200')).items.filter(d => d.kind !== 'derived')
    .sort((a, b) => Number(a.needsReview) - Number(b.needsReview));
  let chosen = '';
  const show = async key => {
    chosen = key;
    const definition = definitions.find(d => d.key === key);
    const points = (await read(`/metrics/points?metricKey=${encodeURIComponent(key)}&limit=1000`)).items;
    if (chosen !== key) return; // another was chosen meanwhile
    const values = folded(points, definition.aggregation);
    const box = make('div', { class: 'plot' });
    const draw = () => {
      if (values.length > 1) box.replaceChildren(plot(values, definition, Math.max(260, box.clientWidth - 32)), make('p', { class: 'said' }, said(values, definition)));
      else box.replaceChildren(make('p', { class: 'said' }, `There are no daily points. ${said(values, definition)}`));
    };
    body.replaceChildren(box);
    draw();
    resized = draw;
  };
  let resized = () => {};
  new ResizeObserver(() => resized()).observe(body);
  if (definitions.length === 0) {
    body.append(make('p', {}, 'There is no metric yet.'));
    return;
  }
  heading.append(choice('Metric', definitions.map(d => [d.key, d.name ?? d.key]), body, show));
  await show(definitions[0].key);
}

// folded is one value a day, of all series: their sum where sums mean something, else their mean.
function folded(points, aggregation) {
  return [...grouped(points.filter(p => p.value !== null), p => p.ts)].map(([ts, list]) => {
    const sum = list.reduce((total, p) => total + p.value, 0);
    return { ts, value: aggregation === 'sum' ? sum : sum / list.length, currency: list[0].currency };
  });
}

function said(values, definition) {
  const what = definition.description ?? definition.key;
  if (values.length < 2) return what;
  const last = values.at(-1), low = Math.min(...values.map(v => v.value)), high = Math.max(...values.map(v => v.value));
  const spell = value => spelled(value, definition.unit, last.currency);
  return `${what} ${day(values[0].ts)} to ${day(last.ts)}: lowest ${spell(low)}, highest ${spell(high)}, last ${spell(last.value)}.`;
}

const day = ts => new Date(ts).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

// spelled is a value in its unit.
function spelled(value, unit, currency) {
  const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' });
  switch (unit) {
    case 'currency_minor': return new Intl.NumberFormat('en', { style: 'currency', currency: currency ?? 'EUR', notation: 'compact', maximumSignificantDigits: 3 }).format(value / 100);
    case 'ratio': return `${short.format(value * 100)} %`;
    case 'duration_ms': return value < 1000 ? `${short.format(value)} ms` : value < 120000 ? `${short.format(value / 1000)} s` : value < 7200000 ? `${short.format(value / 60000)} min` : `${short.format(value / 3600000)} h`;
    case 'bytes': return value < 1e12 ? `${short.format(value / 1e9)} GB` : `${short.format(value / 1e12)} TB`;
  }
  return short.format(value);
}

function plot(values, definition, width) {
  const height = 220, left = 56, bottom = 24, top = 8;
  const high = Math.max(...values.map(v => v.value)), low = Math.min(...values.map(v => v.value));
  // From nought, unless what changes would be too small to see.
  const floor = low > 0 && low > high * 0.6 ? low - (high - low) * 0.3 : Math.min(0, low);
  const ceiling = high === floor ? floor + 1 : high;
  const x = i => left + (width - left - 6) * i / (values.length - 1);
  const y = value => top + (height - bottom - top) * (1 - (value - floor) / (ceiling - floor));
  const line = values.map((v, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v.value).toFixed(1)}`).join('');
  const svg = shape('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${definition.name ?? definition.key}, a line` });
  for (const part of [0, 0.5, 1]) {
    const value = floor + (ceiling - floor) * part;
    svg.append(shape('line', { class: 'grid', x1: left, x2: width, y1: y(value), y2: y(value) }),
      shape('text', { x: left - 10, y: y(value) + 4, 'text-anchor': 'end' }, spelled(value, definition.unit, values[0].currency)));
  }
  for (const part of width < 480 ? [0, 1] : [0, 1 / 3, 2 / 3, 1]) {
    const i = Math.round((values.length - 1) * part);
    svg.append(shape('text', { x: x(i), y: height - 4, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle' }, day(values[i].ts)));
  }
  svg.append(shape('path', { class: 'fill', d: `${line}L${x(values.length - 1)} ${y(floor)}L${x(0)} ${y(floor)}Z` }),
    shape('path', { class: 'curve', d: line }),
    shape('circle', { class: 'dot', cx: x(values.length - 1), cy: y(values.at(-1).value), r: 4.5 }));
  return svg;
}

function shape(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}
