"""How the page looks: on a phone, on a desk, on paper, by day and by night. No font or picture is loaded."""

from gaugedp.report.palette import DAY_RULES, NIGHT_RULES

CSS = """
:root{color-scheme:light dark;--page:#faf9f6;--ink:#1d232b;--soft:#4d5864;--line:#dcd9d0;--card:#fff;--accent:#0b5fa5;
--pale:#b9d6ee;--track:#e9e6de;--warn:#fff3dc;--warn-line:#b45309;
DAY}
@media (prefers-color-scheme:dark){:root{--page:#14181d;--ink:#e7e9ec;--soft:#a9b3be;--line:#343c46;--card:#1b2128;
--accent:#7db7ea;--pale:#33516d;--track:#2b333c;--warn:#35260e;--warn-line:#e0a04a;
NIGHT}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:2.2rem 1.4rem 3rem;max-width:68rem;background:var(--page);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif;
overflow-wrap:anywhere}
h1,h2,.value,.single strong{font-family:ui-serif,Charter,Georgia,Cambria,"Liberation Serif","Times New Roman",serif;
font-weight:600;line-height:1.2}
h1{font-size:clamp(1.5rem,4.6vw,2.4rem);margin:.2rem 0 .5rem;letter-spacing:-.01em}
h2{font-size:1.45rem;margin:2.8rem 0 1rem;padding-top:.7rem;border-top:2px solid var(--ink)}
h3{font-size:1rem;margin:1.5rem 0 .4rem}
h4{font-size:.9rem;margin:1rem 0 .3rem;color:var(--soft)}
p{margin:.5rem 0;max-width:46rem}
ul{padding-left:1.2rem;max-width:46rem}
header .kicker{margin:0;color:var(--soft);letter-spacing:.02em}
header .lead{font-size:1.1rem;color:var(--soft);margin:0}
.small,.note,figcaption,footer{font-size:.9rem;color:var(--soft)}
.note{padding-left:1rem;border-left:3px solid var(--line)}
.card.wide+.note{column-span:all}
.note p:first-child{margin-top:0}
.warning{margin:1.2rem 0;padding:.8rem 1rem;max-width:none;background:var(--warn);
border-left:6px solid var(--warn-line)}
.facts{display:grid;gap:1.1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr))}
main>section:first-child>h2:has(+.facts){position:absolute;width:1px;height:1px;margin:0;padding:0;overflow:hidden;
clip-path:inset(50%)}
main>section:first-child{margin-top:1.8rem}
.fact{padding:1rem 1.2rem;background:var(--card);border:1px solid var(--line);border-top:3px solid var(--accent)}
.fact h3{margin:0;font-size:.95rem;font-weight:600;color:var(--soft)}
.fact p{font-size:.95rem}
.fact .value{margin:.1rem 0 .6rem;font-size:1.5rem}
.fact .small{font-size:.85rem}
.meter{display:flex;height:.9rem;background:var(--track);border:1px solid var(--line)}
.meter .before{background:var(--soft)}
.meter .now{background:var(--accent)}
dl{margin:.8rem 0 0;font-size:.95rem}
dt{color:var(--soft)}
dd{margin:0}
.account{display:grid;grid-template-columns:auto 1fr;gap:.15rem 1rem}
.account dd{text-align:right;font-variant-numeric:tabular-nums}
.names dd{margin-bottom:.6rem}
.cards{columns:27rem 2;column-gap:1.2rem}
.cards.compact{columns:19rem 3}
.cards>*{margin-bottom:1.2rem;break-inside:avoid}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.card{position:relative;padding:1rem 1.2rem 1.1rem;background:var(--card);border:1px solid var(--line)}
.cards .card.wide{column-span:all;margin-top:1.2rem}
.card h3{margin:0}
figure{margin:0}
sup{line-height:0}
figcaption{margin-bottom:.6rem}
.key{margin:0;max-width:none;padding:.35rem 0 0;font-size:.9rem;display:flex;flex-wrap:wrap;gap:.1rem .9rem}
.chart{display:block;width:100%;height:auto;max-width:36rem}
.chart.compact{max-width:26rem}
.chart.wide{max-width:none;min-width:38rem}
.chart text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif;
font-variant-numeric:tabular-nums}
.chart *{stroke-linejoin:round}
.map .chart{max-width:34rem;max-height:30rem;margin:0 auto .6rem}
.map text{font-size:30px;fill:var(--ink);stroke:var(--card);stroke-width:7px;paint-order:stroke}
.area{stroke:var(--card);stroke-width:4px;fill-rule:evenodd}
.amount{fill:var(--accent);fill-opacity:.75}
.shade0{fill:var(--s0)}.shade1{fill:var(--s1)}.shade2{fill:var(--s2)}.shade3{fill:var(--s3)}.shade4{fill:var(--s4)}
.scroll{overflow-x:auto}
.single strong{font-size:2.2rem;margin-right:.6rem}
table{border-collapse:collapse;width:100%;margin:.8rem 0 0;font-size:.92rem;font-variant-numeric:tabular-nums;
overflow-wrap:normal}
caption{text-align:left;font-size:.85rem;color:var(--soft);padding-bottom:.3rem;overflow-wrap:anywhere}
th,td{padding:.28rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child{padding-left:0}
td:last-child,th:last-child{padding-right:0}
thead th{border-bottom:1.5px solid var(--ink);font-weight:600}
th{text-align:left;font-weight:400}
tbody th{overflow-wrap:anywhere;min-width:7rem}
.numbers td,.numbers th+th{text-align:right;white-space:nowrap}
.crossed small{display:block;color:var(--soft)}
.crossed td{line-height:1.25}
.offers{min-width:50rem}
.offers td:last-child{min-width:14rem}
.offers tbody th{font-weight:600}
.offers td:nth-child(-n+4),.offers th:nth-child(n+2):nth-child(-n+4){text-align:right;white-space:nowrap}
.offers td:nth-child(2){min-width:8rem}
.track{display:block;height:.5rem;margin:.15rem 0 .2rem;background:var(--track)}
.bar{display:block;height:100%;background:var(--soft)}
.bar.chosen{background:var(--accent)}
.badge{font-size:.75rem;font-weight:400;padding:.05rem .4rem;border:1px solid var(--accent);color:var(--accent)}
details{margin-top:.8rem}
summary{cursor:pointer;color:var(--accent)}
pre{margin:.4rem 0;padding:.8rem 1rem;white-space:pre-wrap;background:var(--card);border:1px solid var(--line)}
code{font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
footer{margin-top:3rem;border-top:1px solid var(--line)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:30rem){body{padding:1.2rem .8rem 2rem}.card,.fact{padding:.8rem .8rem .9rem}
.numbers{font-size:.86rem}.numbers th,.numbers td{padding:.25rem .35rem}.numbers tbody th{min-width:5.4rem}
.numbers th:first-child{padding-left:0}.numbers td:last-child,.numbers th:last-child{padding-right:0}}
@media print{:root{color-scheme:light;
--page:#fff;--ink:#000;--soft:#333;--line:#bbb;--card:#fff;--accent:#0b5fa5;--track:#eee;--warn:#fff;
DAY}
html{font-size:9.5pt}body{max-width:none;padding:0}.cards,.cards.compact{columns:auto}
.cards>.card{break-inside:auto;padding:.6rem 0 0;border:0;border-top:1px solid var(--line)}
.fact,tr,figure,table,.note{break-inside:avoid}table:has(tbody tr:nth-child(31)){break-inside:auto}
p{orphans:4;widows:4}h2,h3,.card>p,figcaption,caption,.key{break-after:avoid}
footer{margin-top:1rem}.appendix{break-before:page}.chart{max-width:27rem}
.scroll:has(.crossed)+details{display:none}
.area,.amount{print-color-adjust:exact;-webkit-print-color-adjust:exact}
details::details-content{display:block;content-visibility:visible}
summary{display:none}.scroll{overflow:visible}.chart.wide,.offers{min-width:0}.offers{font-size:7.5pt}
.offers td:last-child,.offers td:nth-child(2){min-width:0}
.meter,.track,.meter span,.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".replace("DAY", DAY_RULES).replace("NIGHT", NIGHT_RULES)
