#include "models/dense_head.h"

namespace cait {

void bind(Settings& s, DenseConfig& c) {
    s.integer("head.classes", c.classes, 1, "upernet, linear_map: number of classes");
    s.integer("head.width", c.width, 1, "upernet: channels of its convolutions");
    bind_levels(
        s, c.pyramid, c.taps,
        "upernet: where its four levels come from: four blocks enlarged and reduced, the "
        "stages of the network, four blocks as they are, or four blocks through mmseg's neck; "
        "auto: scales, or stages where there are some",
        "upernet: the four blocks, counted from 0; auto: by depth");
    s.integer(
        "head.auxiliary", c.auxiliary, -1,
        "upernet: level, counted from 0, that a second head learns from in training; -1: none",
        std::int64_t(kMapLevels) - 1);
    s.integer("head.auxiliary_width", c.auxiliary_width, 1,
              "upernet: channels of that head's convolution");
    s.number("head.dropout", c.dropout, 0, 0.99,
             "upernet, linear_map: rate at which training drops channels before the last map");
    s.read_if(
        {"head.auxiliary_width"}, [&c] { return c.auxiliary >= 0; }, "head.auxiliary from 0");
}

void leave_out_dense_head(Builder& b) {
    for (const char* part : {"decode_head", "auxiliary_head"}) b.leave_out(part);
}

}  // namespace cait
