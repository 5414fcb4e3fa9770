"""The report's looks: one style sheet, light and dark, nothing fetched from anywhere."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ground:#f6f5f1;--paper:#fff;--ink:#1d2327;--soft:#5c666d;--line:#e2e0d8;
--train:#2f6f8f;--val:#e0a030;--test:#a8557d;--noul:#3c8f7c;--choice:#4a6fb5;--score:#c9703a;--bad:#b8483f}
@media (prefers-color-scheme:dark){:root{--ground:#14181b;--paper:#1c2226;--ink:#e8e6e0;--soft:#9aa5ab;
--line:#30383d;--train:#5aa5c8;--val:#e9b759;--test:#cf85a8;--noul:#5fb8a3;--choice:#7f9fe0;--score:#e0925f;
--bad:#de7a70}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1060px;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:2rem;line-height:1.15;margin:0;letter-spacing:-.02em}
h2{font-size:1.05rem;margin:0 0 .2rem;letter-spacing:-.005em}
h3{font-size:.85rem;margin:0 0 .4rem;font-weight:600}
p{margin:0 0 1rem}
.lede{color:var(--soft);margin:.4rem 0 1.6rem}
.why{color:var(--soft);font-size:.875rem;margin:0 0 1rem;max-width:76ch}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:1px;background:var(--line);
border:1px solid var(--line);border-radius:10px;overflow:hidden;margin:0 0 1.25rem}
.figures div{background:var(--paper);padding:.85rem 1rem}
.figures b{display:block;font-size:1.55rem;line-height:1.2;font-weight:650;letter-spacing:-.02em;
font-variant-numeric:tabular-nums}
.figures span{color:var(--soft);font-size:.8rem}
.cards{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1.25rem}
section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:1.2rem 1.25rem;min-width:0}
.wide{grid-column:1/-1}
@media (max-width:760px){.cards{grid-template-columns:minmax(0,1fr)}main{padding:1.5rem .85rem 3rem}
section{padding:1rem .9rem}h1{font-size:1.65rem}}
.bars{display:grid;gap:.42rem}
.row{display:grid;grid-template-columns:minmax(7.5rem,11.5rem) minmax(0,1fr) minmax(3.6rem,auto);gap:.7rem;
align-items:center}
.narrow .row{grid-template-columns:3.2rem minmax(0,1fr) minmax(3.6rem,auto)}
.name{font-size:.875rem;overflow-wrap:anywhere;line-height:1.2}
.narrow .name{text-align:right;font-variant-numeric:tabular-nums}
.num,td.n{font-variant-numeric:tabular-nums;text-align:right}
.num{font-size:.875rem;color:var(--soft)}
.noted .row{grid-template-columns:minmax(7.5rem,11.5rem) minmax(0,1fr) 6.6rem}
@media (max-width:460px){.row,.noted .row{grid-template-columns:minmax(0,1fr) auto;gap:.1rem .5rem}
.row svg.bar{grid-column:1/-1;grid-row:2;height:12px}.bars{gap:.6rem}.narrow .bars{gap:.42rem}
.narrow .row{grid-template-columns:1.6rem minmax(0,1fr) 3.2rem}
.narrow .row svg.bar{grid-column:auto;grid-row:auto}.name,.num{font-size:.82rem}}
svg.bar{display:block;width:100%;height:16px;border-radius:3px;background:var(--ground)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:0 0 .9rem;font-size:.82rem;
color:var(--soft)}
.legend li{display:flex;align-items:center;gap:.4rem}
.dot{width:.72rem;height:.72rem;border-radius:3px;display:inline-block}
.train{fill:var(--train);background:var(--train)}.val{fill:var(--val);background:var(--val)}
.test{fill:var(--test);background:var(--test)}.noul{fill:var(--noul);background:var(--noul)}
.choice{fill:var(--choice);background:var(--choice)}.score{fill:var(--score);background:var(--score)}
.bad{fill:var(--bad);background:var(--bad)}
rect{transition:opacity .12s}svg:hover rect{opacity:.55}svg rect:hover{opacity:1}
.hist svg{display:block;width:100%;height:150px}
.grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.equal{stroke:var(--ink);stroke-width:1.25;stroke-dasharray:4 3;vector-effect:non-scaling-stroke;opacity:.65}
.ticks{display:grid;font-size:.72rem;color:var(--soft);text-align:center;line-height:1.5;
font-variant-numeric:tabular-nums}
.ticks span{min-width:0;overflow:hidden}
.axis{font-size:.75rem;color:var(--soft);text-align:center;margin:.1rem 0 0}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:1.1rem 1.4rem}
.multiples svg{display:block;width:100%;height:74px;border-bottom:1px solid var(--line)}
.multiples h3 span{color:var(--soft);font-weight:400}
.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;width:100%;font-size:.86rem}
th{font-weight:600;color:var(--soft);font-size:.78rem;text-align:left;vertical-align:bottom}
th.n{text-align:right}
th,td{padding:.4rem .9rem .4rem 0;border-bottom:1px solid var(--line)}
th.n,td.n{padding:.4rem 0 .4rem .9rem}
tr:last-child td{border-bottom:0}
tfoot td{font-weight:650;border-top:2px solid var(--line)}
td code,p code{font:.82em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft)}
td a{color:inherit;text-decoration-color:var(--line);text-underline-offset:3px}
td a:hover{text-decoration-color:currentColor}
.tag{display:inline-block;font-size:.72rem;border:1px solid var(--line);border-radius:99px;padding:0 .5rem;
color:var(--soft);white-space:nowrap}
h3.sub{margin:1.3rem 0 .6rem}
.kinds{list-style:none;padding:0;margin:.9rem 0 0;font-size:.82rem;color:var(--soft);columns:2;column-gap:2rem}
.kinds li{break-inside:avoid;margin:0 0 .3rem}
.kinds code{font:.95em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--ink)}
@media (max-width:760px){.kinds{columns:1}}
footer{color:var(--soft);font-size:.8rem;margin-top:1.5rem}
@media print{body{background:#fff}section{break-inside:avoid}}
"""
