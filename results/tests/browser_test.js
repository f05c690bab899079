// Runs in the page of the report, appended to it by results/tests/check-report-in-browser; what
// it finds goes into the element #found, which the dumped page shows.
const found = [];
const expect = (what, ok) => { if (!ok) found.push(what); };

addEventListener('error', event => found.push('error: ' + event.message));
expect('only the report\'s own script and this one', document.scripts.length === 2);
expect('names stay text', document.body.textContent.includes('<' + 'script>alert("model")<' + '/script>'));
expect('nothing but images from data', [...document.images].every(i => i.src.startsWith('data:image/svg+xml;base64,')));
expect('twelve charts', document.images.length === 12);
expect('texts for images', [...document.images].every(i => i.alt.length > 20));
expect('headings for columns', [...document.querySelectorAll('th')].every(th => th.scope === 'col'));
expect('no link leaves the page', [...document.links].every(a => a.hash && document.querySelector(a.hash)));

const table = document.querySelector('#results table');
const heads = [...table.tHead.rows[0].cells];
const sort = (name) => {
  const i = heads.findIndex(th => th.textContent === name);
  heads[i].querySelector('button').click();
  return [...table.tBodies[0].rows].map(row => row.cells[i]);
};
const numbers = cells => cells.filter(c => c.dataset.v !== undefined).map(c => Number(c.dataset.v));
const rising = x => x.every((v, i) => i === 0 || x[i - 1] <= v);
const n_rows = table.tBodies[0].rows.length;

let cells = sort('median ms');
expect('rising', rising(numbers(cells)) && numbers(cells).length > 100);
expect('aria-sort', document.querySelectorAll('#results th[aria-sort=ascending]').length === 1);
expect('nothing last', cells[cells.length - 1].textContent === '' && cells[0].textContent !== '');
cells = sort('median ms');
expect('falling', rising(numbers(cells).reverse()));
expect('nothing last again', cells[cells.length - 1].textContent === '');
cells = sort('weights');
expect('texts', rising(cells.map(c => c.textContent).filter(t => t !== '')) ||
  cells.map(c => c.textContent).filter(t => t !== '').every((t, i, all) => i === 0 || all[i - 1].localeCompare(t, 'en', {numeric: true}) <= 0));
expect('no row lost', table.tBodies[0].rows.length === n_rows);

// The ratio of contrast of WCAG 2.1 between text and ground.
const light = color => {
  const [r, g, b] = color.match(/[\d.]+/g).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = light(getComputedStyle(document.body).backgroundColor);
for (const selector of ['body', 'p', '.good', '.bad', '.odd']) {
  const element = document.querySelector(selector);
  const text = light(getComputedStyle(element).color);
  const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
  expect('contrast of ' + selector + ' is ' + ratio.toFixed(1), ratio >= 4.5);
}
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
expect('ground fits the setting', dark === (ground < 0.2));

// Images are decoded late: wait for them, then say.
Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth === 800, () => false)))
  .then(ok => {
    expect('charts are images of 800 pixels', ok.every(x => x));
    const output = document.createElement('pre');
    output.id = 'found';
    output.textContent = (dark ? 'dark' : 'light') + ': ' + (found.length ? found.join('; ') : 'all as expected');
    document.body.append(output);
  });
