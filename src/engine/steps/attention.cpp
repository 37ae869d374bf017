#include <fmt/format.h>

#include "engine/steps/attention_shape.h"
#include "engine/steps/steps.h"
#include "kernels/attention.h"
#include "kernels/class_attention.h"
#include "kernels/operand.h"
#include "kernels/row_attention.h"

namespace cait::engine::steps {

namespace {

using kernels::AttentionShape;

// Tokens of an image in rows, read where they lie.
View token_rows(Compiler& c, std::size_t i) {
    const View view = c.input(i);
    return as_rows(view) && !view.is_weight() ? view : c.dense(view);
}
Index ld_of(const View& view) { return as_rows(view)->ld; }

// Each image's queries in as many parts as there are threads for it: every thread calls
// work(image, first query, queries, its scratch memory).
template <class Work>
void for_queries(const Frame& f, const AttentionShape& shape, const Work& work) {
    const Index parts = std::max<Index>(
        1, std::min<Index>(f.threads / std::max<Index>(1, f.images), (shape.queries + 15) / 16));
    const Index rows = kernels::round_up((shape.queries + parts - 1) / parts, 8);
    const int workers = int(std::min<Index>(f.threads, f.images * parts));
    AttentionShape part = shape;
    part.queries = std::min(rows, shape.queries);
    const Index bytes = kernels::aligned(kernels::attention_workspace(part));
    std::byte* memory = f.scratch->memory.grow(bytes * workers);
    kernels::run_workers(workers, [&](int worker) {
        const kernels::Share share = kernels::share_of(f.images * parts, worker, workers);
        for (Index item = share.begin; item < share.end; ++item) {
            const Index first = item % parts * rows;
            if (first >= shape.queries) continue;
            work(item / parts, first, std::min(rows, shape.queries - first),
                 memory + worker * bytes);
        }
    });
}

}  // namespace

AttentionShape attention_shape(Compiler& c, const op::AttentionOptions& op, Index dim,
                               std::size_t first_mix) {
    AttentionShape shape{.heads = op.heads,
                         .head_dim = dim / op.heads,
                         .scale = float(op.scale),
                         .format = c.format()};
    std::size_t next = first_mix;
    if (op.mix_before) {
        shape.before_weight = c.weight_floats(next++);
        shape.before_bias = c.weight_floats(next++);
    }
    if (op.mix_after) {
        shape.after_weight = c.weight_floats(next++);
        shape.after_bias = c.weight_floats(next++);
    }
    return shape;
}

void emit(Compiler& c, const op::Attention& op) {
    const View q = token_rows(c, 0), k = token_rows(c, 1), v = token_rows(c, 2);
    const Index dim = q.extents[1];
    AttentionShape shape = attention_shape(c, op, dim, 3);
    shape.queries = q.extents[0];
    shape.keys = k.extents[0];
    const View to = c.make(q.extents);
    const Index ldq = ld_of(q), ldk = ld_of(k), ldv = ld_of(v);
    c.emit({q, k, v, to}, [=](const Frame& f) {
        for_queries(f, shape, [&](Index image, Index first, Index count, std::byte* memory) {
            AttentionShape part = shape;
            part.queries = count;
            const auto rows = [&](const View& view, Index ld) {
                return kernels::rows_of(f.at(view) + image * view.image_step, ld);
            };
            kernels::attention_forward(part, rows(q, ldq).from(first), rows(k, ldk), rows(v, ldv),
                                       rows(to, dim).from(first), memory);
        });
    });
    c.result(to);
}

namespace {

// Rows of tokens with the distance between two of them, which is found out once: that allocates.
struct TokenRows {
    View view;
    Index ld = 0;

    explicit TokenRows(View of) : view(std::move(of)), ld(ld_of(view)) {}
    kernels::Rows at(const Frame& f, Index image) const {
        return kernels::rows_of(f.at(view) + image * view.image_step, ld);
    }
};

// What masked attention reads: rows of tokens, and the mask where there is one.
struct MaskedTokens {
    TokenRows q, k, v;
    std::optional<View> mask;

    const float* mask_of(const Frame& f, Index image) const {
        return mask ? f.at(*mask) + image * mask->image_step : nullptr;
    }
};

// A part of the images' heads for each thread.
void run_row_attention(const Frame& f, const AttentionShape& shape, const MaskedTokens& in,
                       const View& to) {
    const Index items = f.images * shape.heads;
    const int workers =
        int(std::min<Index>(f.threads_for(items * shape.keys * shape.head_dim), items));
    const kernels::PerWorker scores(f.scratch->memory, workers, [&](kernels::Arena& arena) {
        return arena.floats(shape.queries * shape.keys);
    });
    kernels::run_workers(workers, [&](int worker) {
        const kernels::Share share = kernels::share_of(items, worker, workers);
        for (Index item = share.begin; item < share.end; ++item) {
            const Index image = item / shape.heads;
            AttentionShape now = shape;
            now.key_mask = in.mask_of(f, image);
            kernels::row_attention(
                now, item % shape.heads, in.q.at(f, image), in.k.at(f, image), in.v.at(f, image),
                kernels::rows_of(f.at(to) + image * to.image_step, to.extents[1]), scores(worker));
        }
    });
}

void run_masked_attention(const Frame& f, const AttentionShape& shape, const MaskedTokens& in,
                          const View& to) {
    for_queries(f, shape, [&](Index image, Index first, Index count, std::byte* memory) {
        AttentionShape part = shape;
        part.queries = count;
        part.key_mask = in.mask_of(f, image);
        part.first_query = first;
        kernels::attention_forward(
            part, in.q.at(f, image).from(first), in.k.at(f, image), in.v.at(f, image),
            kernels::rows_of(f.at(to) + image * to.image_step, to.extents[1]).from(first), memory);
    });
}

}  // namespace

// Which of the two runs must not depend on threads or batch, so that results do not either.
void emit(Compiler& c, const op::MaskedAttention& op) {
    MaskedTokens in{
        TokenRows(token_rows(c, 0)), TokenRows(token_rows(c, 1)), TokenRows(token_rows(c, 2)), {}};
    const View &q = in.q.view, &k = in.k.view, &v = in.v.view;
    if (c.inputs() > 3) in.mask = c.dense_input(3);
    const AttentionShape shape{.queries = q.extents[0],
                               .keys = k.extents[0],
                               .heads = op.heads,
                               .head_dim = q.extents[1] / op.heads,
                               .scale = float(op.scale),
                               .causal = op.causal,
                               .format = c.format()};
    const View to = c.make(q.extents);
    const bool is_few = shape.queries <= kernels::kMostRowQueries;
    c.emit({q, k, v, in.mask.value_or(q), to}, [=](const Frame& f) {
        (is_few ? run_row_attention : run_masked_attention)(f, shape, in, to);
    });
    c.result(to);
}

void emit(Compiler& c, const op::AttentionMap& op) {
    const View q = token_rows(c, 0), k = token_rows(c, 1);
    AttentionShape shape = attention_shape(c, op, q.extents[1], 2);
    shape.queries = q.extents[0];
    shape.keys = k.extents[0];
    const View to = c.make(image_extents(c.node().shape));
    const Index ldq = ld_of(q), ldk = ld_of(k);
    c.emit({q, k, to}, [=](const Frame& f) {
        for_queries(f, shape, [&](Index image, Index first, Index count, std::byte* memory) {
            AttentionShape part = shape;
            part.queries = count;
            kernels::attention_map_forward(
                part, kernels::rows_of(f.at(q) + image * q.image_step, ldq).from(first),
                kernels::rows_of(f.at(k) + image * k.image_step, ldk),
                f.at(to) + image * to.image_step + first * shape.keys, shape.queries * shape.keys,
                memory);
        });
    });
    c.result(to);
}

// The rows of head h's map times its columns of the values.
void emit(Compiler& c, const op::AttentionApply&) {
    const View map = c.dense_input(0), v = token_rows(c, 1);
    const Index heads = map.extents[0], queries = map.extents[1], keys = map.extents[2];
    const View to = c.make(image_extents(c.node().shape));
    const Index ldv = ld_of(v);
    const AttentionShape shape{.queries = queries,
                               .keys = keys,
                               .heads = heads,
                               .head_dim = v.extents[1] / heads,
                               .format = c.format()};
    c.emit({map, v, to}, [=](const Frame& f) {
        for_queries(f, shape, [&](Index image, Index first, Index count, std::byte* memory) {
            AttentionShape part = shape;
            part.queries = count;
            kernels::attention_apply_forward(
                part, f.at(map) + image * map.image_step + first * keys, queries * keys,
                kernels::rows_of(f.at(v) + image * v.image_step, ldv),
                kernels::rows_of(f.at(to) + image * to.image_step, to.extents[1]).from(first),
                memory);
        });
    });
    c.result(to);
}

void emit(Compiler& c, const op::ClassAttention& op) {
    const View q = token_rows(c, 0), tokens = token_rows(c, 1);
    const Weight keys = c.weight(2), values = c.weight(3);
    const Index dim = q.extents[1], head_dim = dim / op.heads;
    std::vector<kernels::PackedView> key_weights, value_weights;
    for (Index h = 0; h < op.heads; ++h) {
        const auto rows_of_head = [&](const Weight& w) {
            return w.values.floats().data() + h * head_dim * dim;
        };
        key_weights.push_back(c.store().packed(
            keys.name, keys.values, fmt::format("upright head {} of {}", h, op.heads), c.format(),
            {head_dim, dim},
            [&] {
                return kernels::upright_source(kernels::rows_of(rows_of_head(keys), dim), head_dim,
                                               dim);
            },
            c.threads()));
        value_weights.push_back(c.store().packed(
            values.name, values.values, fmt::format("rows of head {} of {}", h, op.heads),
            c.format(), {dim, head_dim},
            [&] { return kernels::forward_source(rows_of_head(values), head_dim, dim); },
            c.threads()));
    }
    const kernels::ClassAttention shape{.queries = q.extents[0],
                                        .keys = tokens.extents[0],
                                        .heads = op.heads,
                                        .head_dim = head_dim,
                                        .scale = float(op.scale),
                                        .value_bias = c.inputs() > 4 ? c.weight_floats(4) : nullptr,
                                        .format = c.format()};
    const View to = c.make(q.extents);
    const Index ldq = ld_of(q), ldt = ld_of(tokens);
    c.emit({q, tokens, to}, [=, keys_of = std::move(key_weights),
                             values_of = std::move(value_weights)](const Frame& f) {
        kernels::ClassAttention now = shape;
        now.key_weights = keys_of;
        now.value_weights = values_of;
        now.batch = f.images;
        now.threads = f.threads;
        kernels::class_attention_forward(now, {f.at(q), q.image_step, ldq},
                                         {f.at(tokens), tokens.image_step, ldt}, f.at(to),
                                         *f.scratch);
    });
    c.result(to);
}

}  // namespace cait::engine::steps
