// How a report looks: one column on a phone, two charts side by side on a desk, light or dark as
// the reader's system is.
#include <fmt/format.h>

#include "report/report_parts.h"
#include "report/theme.h"

namespace cait {

namespace {

std::string key_rules() {
    std::string css;
    for (std::size_t i = 1; i <= kLineColours + 1; ++i)
        css += fmt::format("i.s{0} {{ background: var(--s{0}); }}\n", i);
    for (std::size_t i = 0; i < kCloudColours; ++i)
        css += fmt::format("i.c{0} {{ background: var(--c{0}); }}\n", i);
    return css;
}

}  // namespace

std::string report_style() {
    return palette_variables() + R"css(* { box-sizing: border-box; }
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
.key.square { border-radius: 0; }
i.key.dash { height: 4px; border-radius: 0; vertical-align: middle; opacity: .7; }
svg { display: block; width: 100%; height: auto; }
)css" + chart_rules() +
           key_rules() + R"css(.square { max-width: 360px; }
.scroll { overflow-x: auto; }
.scroll svg { max-width: none; }
.split { display: flex; height: 26px; gap: 2px; border-radius: 6px; overflow: hidden;
  margin-bottom: 8px; }
.split i { min-width: 1px; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
.scroll + .scroll { margin-top: 16px; }
thead th { overflow-wrap: normal; }
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
.cards.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
.cards.wide img { display: inline-block; width: calc(50% - 4px); height: auto; margin-right: 4px; }
.facts { display: grid; gap: 8px 28px; margin: 8px 0 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr)); }
.facts dt { color: var(--dim); font-size: .8rem; } .facts dd { margin: 0; }
pre, code { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { margin: 8px 0 0; padding: 14px; background: var(--page); border-radius: 8px;
  overflow-x: auto; overflow-wrap: normal; }
@media print { section, .tiles div { break-inside: avoid; } }
)css";
}

}  // namespace cait
