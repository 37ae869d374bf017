// A session of the engine as an executor.
#pragma once

#include "cait/session.h"
#include "models/executor.h"

namespace cait {

class EngineExecutor final : public Executor {
public:
    EngineExecutor(const Model& model, const SessionOptions& options) : session_(model, options) {}

    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        return session_.run(inputs, taps);
    }
    const Session& session() const { return session_; }

private:
    Session session_;
};

}  // namespace cait
