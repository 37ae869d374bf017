// How a report looks: one column on a phone, two charts side by side on a desk, light or dark as
// the reader's system is.
#include "report/report_parts.h"
#include "report/theme.h"

namespace cait {

namespace {

constexpr const char* kRules = R"css(* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 24px 16px 64px; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 16px; font-weight: 650; }
h2 { font-size: 1.1rem; margin: 0 0 4px; font-weight: 650; }
h3 { font-size: .95rem; margin: 8px 0 4px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px; margin-top: 16px; }
.why, .dim, .legend { color: var(--dim); }
.why { margin: 0 0 12px; max-width: 68ch; font-size: .9rem; }
.tiles { display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); }
.tiles div { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 10px 14px; }
.tiles span { display: block; color: var(--dim); font-size: .8rem; }
.tiles b { font-size: 1.3rem; font-weight: 650; }
.notes { margin: 16px 0 0; padding: 10px 14px 10px 30px; border-left: 3px solid var(--s2);
  background: var(--card); border-radius: 0 10px 10px 0; }
.pair { display: grid; gap: 0 16px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.charts { display: grid; gap: 20px 28px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); }
.charts > :only-child { max-width: 500px; }
figure { margin: 0; }
.chart figcaption { font-weight: 600; }
.legend { margin: 0 0 6px; font-size: .82rem; display: flex; flex-wrap: wrap; gap: 2px 14px; }
.legend b { color: var(--ink); font-weight: 600; }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
.grid { stroke: var(--rule); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); }
.line.s3 { stroke: var(--s3); } .line.s4 { stroke: var(--s4); } .line.s5 { stroke: var(--s5); }
.line.dash { stroke-dasharray: 6 4; }
i.key.dash { height: 4px; border-radius: 0; vertical-align: middle; opacity: .7; }
i.s1 { background: var(--s1); } i.s2 { background: var(--s2); } i.s3 { background: var(--s3); }
i.s4 { background: var(--s4); } i.s5 { background: var(--s5); }
rect.s1, .dot.s1, .cell { fill: var(--s1); } .dot.s2 { fill: var(--s2); }
.dot.s3 { fill: var(--s3); } .dot.s4 { fill: var(--s4); } .dot.s5 { fill: var(--s5); }
svg .strong { fill: var(--ink); }
.band { fill: var(--s1); opacity: .16; } .band.in { opacity: .3; }
.dot { stroke: var(--card); stroke-width: 1.5; }
rect.muted { fill: var(--s5); }
.diagonal { stroke: var(--ink); stroke-dasharray: 4 4; stroke-width: 1.5; fill: none; }
.square { max-width: 360px; }
svg .on, svg .off { text-anchor: middle; font-size: 10px; fill: var(--ink); }
svg .on { fill: var(--on); }
.scroll { overflow-x: auto; }
.scroll svg { max-width: none; }
.split { display: flex; height: 26px; gap: 2px; border-radius: 6px; overflow: hidden;
  margin-bottom: 8px; }
.split i { min-width: 1px; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
.bars { width: 100%; }
.bars th { text-align: left; font-weight: 400; width: 30%; max-width: 16rem;
  padding: 2px 10px 2px 0; }
.bars td { white-space: nowrap; text-align: right; padding: 2px 0 2px 10px; width: 1%; }
.bars .bar { width: auto; padding: 0; text-align: left; }
.bar i { display: block; height: 12px; border-radius: 0 4px 4px 0; background: var(--s1);
  min-width: 1px; }
.bars .gap { text-align: center; color: var(--dim); padding: 8px; }
.pairs th, .pairs td { text-align: left; padding: 4px 18px 4px 0; vertical-align: top;
  border-bottom: 1px solid var(--rule); min-width: 5em; }
.pairs th { font-weight: 600; } .pairs .n { text-align: right; white-space: nowrap; }
.cards { display: grid; gap: 18px 14px; font-size: .82rem; line-height: 1.35;
  grid-template-columns: repeat(auto-fill, minmax(128px, 1fr)); }
.cards img { display: block; width: 100%; height: 128px; object-fit: contain;
  object-position: left bottom; margin-bottom: 6px; }
.facts { display: grid; gap: 8px 28px; margin: 8px 0 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr)); }
.facts dt { color: var(--dim); font-size: .8rem; } .facts dd { margin: 0; }
pre, code { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { margin: 8px 0 0; padding: 14px; background: var(--page); border-radius: 8px;
  overflow-x: auto; overflow-wrap: normal; }
@media print { section, .tiles div { break-inside: avoid; } }
)css";

}  // namespace

std::string report_style() {
    return ":root { color-scheme: light dark; --on: #ffffff; " + theme_variables(kLightTheme) +
           " }\n@media (prefers-color-scheme: dark) { :root { " + theme_variables(kDarkTheme) +
           " } }\n" + kRules;
}

}  // namespace cait
