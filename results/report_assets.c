/*
 * Style and script of the report.
 *
 * Colours follow the reader's light or dark setting; charts have a white ground, which is turned
 * dark by inverting brightness and turning hues back. Printed, all is light and nothing is cut.
 * The script makes headings of tables into buttons that sort; without it tables are as they are.
 */
#include "results/html_report.h"

const char report_css[] =
    ":root{color-scheme:light dark;--ground:#fff;--text:#1a1a1a;--dim:#555;--line:#ccc;"
    "--head:#eee;--good:#0a6b2d;--bad:#b00020;--odd:#7a4d00}\n"
    "@media(prefers-color-scheme:dark){:root{--ground:#16181b;--text:#e8e8e8;--dim:#aaa;"
    "--line:#444;--head:#26292e;--good:#6fd08c;--bad:#ff8a8a;--odd:#e8b45a}"
    "img{filter:invert(1) hue-rotate(180deg)}}\n"
    "body{background:var(--ground);color:var(--text);font:15px/1.4 system-ui,sans-serif;"
    "margin:0 auto;padding:1rem;max-width:80rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}p,figcaption{color:var(--dim)}\n"
    "nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1rem;list-style:none;padding:0}"
    "a{color:inherit}\n"
    "figure{margin:1rem 0}img{max-width:100%;height:auto;border:1px solid var(--line)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}\n"
    "caption{text-align:left;color:var(--dim);padding:.2rem 0}\n"
    "th,td{border:1px solid var(--line);padding:.2rem .45rem;text-align:left;"
    "vertical-align:top;max-width:24rem;overflow-wrap:anywhere}td{min-width:6rem}\n"
    "th{background:var(--head);white-space:nowrap}"
    "td.n{min-width:0;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "th button{all:unset;cursor:pointer;font-weight:bold}"
    "th button:focus-visible{outline:2px solid currentColor}\n"
    "th[aria-sort=ascending] button::after{content:' \\25B2'}"
    "th[aria-sort=descending] button::after{content:' \\25BC'}\n"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:bold}.odd{color:var(--odd)}\n"
    "@media print{:root{--ground:#fff;--text:#000;--dim:#333;--line:#999;--head:#eee;"
    "--good:#0a6b2d;--bad:#b00020;--odd:#7a4d00}img{filter:none;break-inside:avoid}"
    "nav{display:none}.scroll{overflow:visible}table{font-size:.6rem}tr{break-inside:avoid}}\n";

const char report_js[] =
    "for (const table of document.querySelectorAll('table')) {\n"
    "  const body = table.tBodies[0];\n"
    "  const heads = [...table.tHead.rows[0].cells];\n"
    "  const key = (row, i) => {\n"
    "    const cell = row.cells[i];\n"
    "    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);\n"
    "  };\n"
    "  /* numbers before texts, nothing last in both directions */\n"
    "  const compare = (a, b, sign) => {\n"
    "    if (a === '' || b === '') return (a === '') - (b === '');\n"
    "    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;\n"
    "    if (typeof a === 'number') return sign * (a - b);\n"
    "    return sign * a.localeCompare(b, 'en', {numeric: true});\n"
    "  };\n"
    "  heads.forEach((head, i) => {\n"
    "    const button = document.createElement('button');\n"
    "    button.type = 'button';\n"
    "    button.textContent = head.textContent;\n"
    "    head.replaceChildren(button);\n"
    "    button.addEventListener('click', () => {\n"
    "      const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;\n"
    "      for (const other of heads) other.removeAttribute('aria-sort');\n"
    "      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');\n"
    "      const rows = [...body.rows];\n"
    "      rows.sort((a, b) => compare(key(a, i), key(b, i), sign));\n"
    "      body.append(...rows);\n"
    "    });\n"
    "  });\n"
    "}\n";
