package io.jccl.device;

import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.internal.ResourceLimits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;

/** Identifies this host, this process and its isolation domain. */
public final class HostIdentity {

    /**
     * Contains a part that is drawn at random once, because processes in two containers can have the same process id.
     */
    private static final String PROCESS =
            ProcessHandle.current().pid() + "-" + namespace("pid") + "-" + UUID.randomUUID();

    private HostIdentity() {}

    /**
     * Returns a text that no other process on any host has: process id, process-id namespace and a random part, joined
     * by {@code -}.
     */
    public static String process() {
        return PROCESS;
    }

    /**
     * Returns a text that differs between hosts: the kernel's boot id, which the containers of a host share, or the
     * host name if there is no boot id.
     *
     * @throws JcclException if this process has no file descriptor left to read it
     */
    public static String host() {
        try {
            String id =
                    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
            return id.isEmpty() ? hostName() : id;
        } catch (IOException e) {
            requireNotExhausted(e);
            return hostName(); // not Linux, or a container hides the file
        }
    }

    /**
     * Returns a text that differs between processes of one host that cannot pass memory to each other. File descriptors
     * are passed through a socket that is visible only inside a network namespace, and only between processes of one
     * user.
     */
    public static String isolationDomain() {
        return networkNamespace() + ", " + user();
    }

    /** Returns a text that differs between the network namespaces of a host. */
    public static String networkNamespace() {
        return "network namespace " + namespace("net");
    }

    private static String namespace(String kind) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/ns", kind)).toString();
        } catch (IOException e) {
            return "unknown"; // not Linux, or a container hides the file
        }
    }

    private static String user() {
        try {
            return "user " + UserId.ofThisProcess();
        } catch (IOException e) {
            requireNotExhausted(e);
            return "user " + System.getProperty("user.name", "unknown");
        }
    }

    /**
     * Throws if the process has no file descriptor left. Such a process cannot read its identity, and must not be
     * mistaken for a process of another host or user.
     */
    private static void requireNotExhausted(IOException refused) {
        if (ResourceLimits.isReached(refused)) {
            throw new JcclException("the identity of this host cannot be read: " + Causes.describe(refused), refused);
        }
    }

    private static Optional<String> read(Path file) {
        try {
            String text = Files.readString(file).strip();
            return text.isEmpty() ? Optional.empty() : Optional.of(text);
        } catch (IOException e) {
            return Optional.empty(); // not Linux, or a container hides the file: the caller uses the next best source
        }
    }

    /** Returns the name of this host. Asks no name server if the kernel knows the name. */
    public static String hostName() {
        Optional<String> kernel = read(Path.of("/proc/sys/kernel/hostname"));
        if (kernel.isPresent()) {
            return kernel.get();
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
