#include "system/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "cait/error.h"
#include "system/descriptor.h"
#include "system/output_place.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

// ---- Landlock: who may write

// Beyond what Debian's headers know.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;
constexpr int kReferVersion = 2, kTruncateVersion = 3;

constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kChangeFolder =
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// What an output needs of these: temporary files, renames, folders of runs and reports.
constexpr std::uint64_t kUseFolder = LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                     LANDLOCK_ACCESS_FS_MAKE_REG;

int landlock_version() {
    const long version =
        ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : int(version);
}

class WriteRules {
public:
    explicit WriteRules(int version)
        : file_(kWriteFile | (version >= kTruncateVersion ? kTruncate : 0)),
          folder_(file_ | kUseFolder |
                  (version >= kReferVersion ? LANDLOCK_ACCESS_FS_REFER : std::uint64_t{0})),
          ruleset_(make(folder_ | kChangeFolder)) {}

    explicit operator bool() const { return bool(ruleset_); }

    // Whatever of it is there: the file itself, and the folder that a new one would be made in.
    void allow(const fs::path& output) {
        std::error_code ignored;
        const OutputPlace place = behind_links(output);
        if (place.descriptor >= 0) return;  // open already
        const fs::path target = fs::weakly_canonical(place.path, ignored);
        if (fs::is_directory(target, ignored)) {
            add(target, folder_);
            return;
        }
        add(target, file_);
        if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) return;
        fs::path folder = target.parent_path();
        while (!folder.empty() && !fs::is_directory(folder, ignored) &&
               folder != folder.parent_path())
            folder = folder.parent_path();
        add(folder.empty() ? "." : folder, folder_);
    }

    bool enforce() const { return ::syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) == 0; }

private:
    // A link may lead to another folder, also to a file that is not there yet.
    static OutputPlace behind_links(const fs::path& output) {
        try {
            return output_place(output);
        } catch (const Error&) {  // a folder; whatever cannot be written says so when it is
            return {.path = output};
        }
    }

    static long make(std::uint64_t handled) {
        const landlock_ruleset_attr rules{.handled_access_fs = handled};
        return ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    }

    // A path that is not there needs no rule.
    void add(const fs::path& path, std::uint64_t access) const {
        const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
        if (!place) return;
        landlock_path_beneath_attr rule{};
        rule.allowed_access = access;
        rule.parent_fd = place.get();
        ::syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }

    std::uint64_t file_, folder_;
    Descriptor ruleset_;
};

// ---- seccomp: no network, no other program, no way around the two

constexpr std::array kRefused = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_open_by_handle_at,
    SYS_pidfd_getfd,
};

constexpr std::array kPrograms = {SYS_execve, SYS_execveat};
// What processes of one run need beside kServing, and nobody else.
constexpr std::array kPeers = {SYS_socket, SYS_socketpair, SYS_connect,
                               SYS_bind,   SYS_listen,     SYS_sendmmsg};
// What a server needs, and they do.
constexpr std::array kServing = {SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg};
// Netlink: which addresses this machine has.
constexpr std::array kFamilies = {AF_INET, AF_INET6, AF_NETLINK};

bool refuse_calls(Network network, Programs programs) {
#if defined(__x86_64__)
    constexpr std::uint32_t kOtherTable = 0x40000000;  // x32 has numbers of its own
    const auto load = [](std::size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, std::uint32_t(offset));
    };
    const auto answer = [](std::uint32_t what) {
        return sock_filter BPF_STMT(BPF_RET | BPF_K, what);
    };
    const std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
    std::vector<sock_filter> program = {
        load(offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        answer(refused),
        load(offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherTable, 0, 1),
        answer(refused),
    };
    const auto refuse = [&](const auto number) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, std::uint32_t(number), 0, 1));
        program.push_back(answer(refused));
    };
    for (const auto number : kRefused) refuse(number);
    if (programs == Programs::none)
        for (const auto number : kPrograms) refuse(number);
    if (network == Network::none)
        for (const auto number : kServing) refuse(number);
    if (network != Network::peers)
        for (const auto number : kPeers) refuse(number);
    // The sockets of other programs on this machine (D-Bus, containers) are files to them.
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, std::uint32_t(SYS_socket), 0,
                               std::uint8_t(2 * kFamilies.size() + 2)));
    program.push_back(load(offsetof(seccomp_data, args)));  // the low half of the first
    for (const auto family : kFamilies) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, std::uint32_t(family), 0, 1));
        program.push_back(answer(SECCOMP_RET_ALLOW));
    }
    program.push_back(answer(refused));
    program.push_back(answer(SECCOMP_RET_ALLOW));
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                            .filter = program.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
#else
    (void)network, (void)programs;
    return false;
#endif
}

bool wanted() {
    const char* word = std::getenv("CAIT_SANDBOX");
    if (word == nullptr || std::strcmp(word, "on") == 0) return true;
    if (std::strcmp(word, "off") == 0) return false;
    throw UsageError(fmt::format("CAIT_SANDBOX: expected on or off, found \"{}\"", word));
}

}  // namespace

Sandbox enter_sandbox(const std::vector<fs::path>& outputs, Network network, Programs programs) {
    if (!wanted()) return {.reason = "CAIT_SANDBOX=off"};
    Sandbox result;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        result.reason = std::strerror(errno);
        return result;
    }
    const int version = landlock_version();
    WriteRules rules(version);
    if (version > 0 && rules) {
        for (const fs::path& output : outputs) rules.allow(output);
        result.files = rules.enforce();
    }
    if (!result.files) result.reason = "the system has no Landlock";
    result.system_calls = refuse_calls(network, programs);
    if (!result.system_calls)
        result.reason +=
            fmt::format("{}seccomp: {}", result.reason.empty() ? "" : "; ", std::strerror(errno));
    return result;
}

std::string sandbox_text() {
    if (!wanted()) return "off (CAIT_SANDBOX=off)";
    const int version = landlock_version();
    const bool seccomp = ::prctl(PR_GET_SECCOMP) >= 0;
    const std::string landlock =
        version > 0 ? fmt::format("Landlock {}", version) : std::string("no Landlock");
    return fmt::format("{} and {}", landlock, seccomp ? "seccomp" : "no seccomp");
}

}  // namespace cait
