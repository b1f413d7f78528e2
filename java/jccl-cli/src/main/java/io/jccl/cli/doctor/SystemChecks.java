package io.jccl.cli.doctor;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/** Checks limits and privileges of processes. */
final class SystemChecks {

    private static final long FILES_OF_A_JVM = 256;
    private static final long FILES_PER_PEER = 16; // sockets, streams and segments that connect a rank to a peer

    private SystemChecks() {}

    static List<Finding> openFiles(Host host) {
        OptionalLong limit = host.softLimit("Max open files");
        if (limit.isEmpty()) {
            return List.of(Finding.ok("open-files", "limit not visible"));
        }
        long wanted = FILES_OF_A_JVM + FILES_PER_PEER * host.ranks();
        String seen = "limit=" + (limit.getAsLong() == Long.MAX_VALUE ? "unlimited" : limit.getAsLong());
        return List.of(
                limit.getAsLong() >= wanted
                        ? Finding.ok("open-files", seen)
                        : Finding.warn(
                                "open-files",
                                seen + ": a rank with " + host.ranks() + " peers may open " + wanted,
                                "ulimit -n " + Math.max(4096, wanted)));
    }

    /** Reports privileges that other libraries need and JCCL does not need, so that nobody grants them in vain. */
    static List<Finding> privileges(Host host) {
        String ptrace = host.read("/proc/sys/kernel/yama/ptrace_scope")
                .map(scope -> "ptrace_scope=" + scope)
                .orElse("no yama");
        String namespaces = host.read("/proc/sys/user/max_user_namespaces")
                .map(max -> "max_user_namespaces=" + max)
                .orElse("user namespaces not visible");
        return List.of(Finding.ok(
                "privileges",
                ptrace + ", " + namespaces + ": either is fine, shared memory needs no ptrace, "
                        + "no capability and no user namespace"));
    }

    /** Checks that Unix sockets work. Ranks pass descriptors of shared memory through them. */
    static List<Finding> unixSockets(Host host) {
        Path directory = null;
        try {
            directory = Files.createTempDirectory("jccl-doctor");
            UnixDomainSocketAddress address = UnixDomainSocketAddress.of(directory.resolve("s"));
            try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                            .bind(address);
                    SocketChannel client = SocketChannel.open(address);
                    SocketChannel accepted = server.accept()) {
                boolean joined = client.isConnected() && accepted.isConnected();
                return List.of(
                        joined
                                ? Finding.ok("unix-sockets", "two processes of this user can connect")
                                : Finding.fail(
                                        "unix-sockets", "a connection was not made", "allow AF_UNIX in the sandbox"));
            }
        } catch (IOException | UnsupportedOperationException e) {
            return List.of(
                    Finding.fail(
                            "unix-sockets",
                            "none can be made: " + Causes.describe(e),
                            "allow AF_UNIX sockets (seccomp profile or sandbox), and a temporary directory that can be written"));
        } finally {
            remove(directory);
        }
    }

    private static void remove(Path directory) {
        if (directory != null) {
            try {
                Files.deleteIfExists(directory.resolve("s"));
                Files.deleteIfExists(directory);
            } catch (IOException e) {
                // the directory remains in the temporary directory
            }
        }
    }
}
