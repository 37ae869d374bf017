// `cait serve`: answers HTTP requests with models.
#include "serve.h"

#include "base/display_name.h"
#include "kernels/precision_names.h"
#include "model_arguments.h"
#include "serve/http/host_rule.h"

namespace cait::app {

namespace {

void add_place(CLI::App& command, ServeArguments& arguments) {
    const OptionGroup group(command, "Clients");
    command.add_option("--host", arguments.host, "Address to listen at; 0.0.0.0 or :: for all")
        ->capture_default_str();
    command.add_option("--port", arguments.port, "Port; 0 for one that is free")
        ->capture_default_str();
    command
        .add_option("--name", arguments.names,
                    "Host name that clients may use, in addition to localhost and IP addresses; "
                    "may be repeated")
        ->type_name("NAME");
    command.add_option("--token-file", arguments.token_file,
                       "File with the bearer token that clients must show");
    command.add_flag("--control", arguments.control,
                     "Let clients without a token load and unload models; only where the server "
                     "listens on this computer alone");
    command
        .add_option("--certificate", arguments.certificate,
                    "PEM file with the certificates, for TLS; with --key")
        ->type_name("FILE");
    command.add_option("--key", arguments.key, "PEM file with the private key")->type_name("FILE");
    command.add_option("--log", arguments.log,
                       "File that gets a line of JSON for each answer; - for stdout");
}

void add_speed(CLI::App& command, ServeArguments& arguments) {
    const OptionGroup group(command, "Speed and limits");
    command
        .add_option("--precision", arguments.precision,
                    "Of the products: fp32, bf16, or int8 for those of the blocks")
        ->check(CLI::IsMember(precision_names()))
        ->capture_default_str();
    command.add_option("--threads", arguments.threads, "Threads that compute; default: all cores")
        ->check(CLI::Range(0, 1024));
    command.add_option("--workers", arguments.workers, "Threads that decode; default: all cores")
        ->check(CLI::Range(0, 1024));
    command
        .add_option("--batch", arguments.batch,
                    "Images of different requests that may go together; fewer where the bound "
                    "needs it")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command
        .add_option("--bound", arguments.bound,
                    "Milliseconds within which an accepted request is answered; who would miss it "
                    "is refused at once")
        ->check(CLI::Range(1.0, 1e6))
        ->capture_default_str();
    command
        .add_option("--delay", arguments.delay,
                    "Milliseconds that a request may wait for others to go with")
        ->check(CLI::Range(0.0, 1e4))
        ->capture_default_str();
    command
        .add_option("--timeout", arguments.timeout,
                    "Seconds for the head of a request; its body and the answer may take a second "
                    "more for every 16 KiB")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command
        .add_option("--megapixels", arguments.megapixels,
                    "Largest image, in millions of pixels; all images of a request may have four "
                    "times as many")
        ->check(CLI::Range(0.001, 178.0))
        ->capture_default_str();
    command
        .add_option("--answer", arguments.answer,
                    "Largest answer, such as 512M; what would be larger is refused before it is "
                    "computed")
        ->type_name("SIZE")
        ->capture_default_str();
    command.add_option("--connections", arguments.connections, "Connections at a time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command
        .add_option("--grace", arguments.grace,
                    "Seconds after SIGTERM in which requests are still taken, but /v2/health/ready "
                    "says no")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    command
        .add_option("--patience", arguments.patience,
                    "Seconds after that in which what was accepted is answered")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
}

void add_serve(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait serve runs/flowers\n"
                "  cait serve small=a.safetensors large=b.safetensors --port 9000 --log -\n"
                "  cait serve --model cait_s24_224 official --index photos.safetensors\n"
                "  curl --data-binary @rose.jpg 'http://127.0.0.1:8080/classify?top=3'");
    auto arguments = std::make_shared<ServeArguments>();
    command
        .add_option("files", arguments->files,
                    "Weight files or folders of runs, as NAME=FILE or under the file's own name; "
                    "a name that comes again is its next version")
        ->required()
        ->type_name("FILE");
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    arguments->model.preparation.add_to(command);
    add_classes_option(command, arguments->classes);
    add_place(command, *arguments);
    add_speed(command, *arguments);
    command.add_option(
        "--index", arguments->index,
        "Images that /search looks in: what `cait index` wrote (Flat), or the .safetensors of "
        "`cait embed`; made by the first model");
    command
        .add_option("--pictures", arguments->pictures,
                    "Show small pictures of what is found: those images of --index that lie in "
                    "this folder")
        ->type_name("FOLDER");
    command.callback([arguments, invocation] {
        arguments->model.settings();
        if (arguments->certificate.empty() != arguments->key.empty())
            throw UsageError("--certificate and --key: expected both or neither");
        for (const std::string& name : arguments->names)
            if (name.empty() || name.find_first_of("/:[] ") != std::string::npos)
                throw UsageError(
                    "--name: expected a name such as example.org, without scheme and "
                    "port, found " +
                    display_name(name));
        if (arguments->control && arguments->token_file.empty() &&
            !serve::is_loopback(arguments->host))
            throw UsageError("--control: expected --token-file too, for " + arguments->host +
                             " can be reached from other computers");
        if (arguments->index.empty() && !arguments->pictures.empty())
            throw UsageError("--pictures: expected --index FILE, whose images are shown");
        run(*arguments, invocation);
    });
}

const RegisterCommand serve_row({"serve", CommandGroup::serve,
                                 "Answer HTTP requests: classes, vectors, any output of a model",
                                 add_serve});

}  // namespace

}  // namespace cait::app
