#include "models/dropout.h"

namespace cait {

void bind_dropout(Settings& s, DropoutConfig& c) {
    s.number("dropout", c.tokens, 0, 0.999,
             "dropout rate in training: after the position embedding, the attention's projection "
             "and both linear maps of an MLP");
    s.number("attention_dropout", c.attention, 0, 0.999,
             "dropout rate in training of the attention weights");
}

}  // namespace cait
