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

/** Which host and which process this is. */
public final class HostIdentity {

    /** With a part that is drawn once, so that a process id that two containers share does not make two processes one. */
    private static final String PROCESS =
            ProcessHandle.current().pid() + "-" + namespace("pid") + "-" + UUID.randomUUID();

    private HostIdentity() {}

    /** Distinguishes processes, on whatever host: process id, process-id namespace, and a random part, with - between them. */
    public static String process() {
        return PROCESS;
    }

    /**
     * Distinguishes hosts: the kernel's boot id, which containers of one host share; the host name where there is none.
     *
     * @throws JcclException if this process has no descriptor left to read it
     */
    public static String host() {
        try {
            String id =
                    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
            return id.isEmpty() ? hostName() : id;
        } catch (IOException e) {
            requireNotExhausted(e);
            return hostName(); // not Linux, or hidden by a container
        }
    }

    /**
     * Distinguishes processes of one host that cannot pass memory to each other: a descriptor passes through a socket
     * that is visible only inside a network namespace, and only between processes of one user.
     */
    public static String isolationDomain() {
        return networkNamespace() + ", " + user();
    }

    /** Distinguishes the network namespaces of a host. */
    public static String networkNamespace() {
        return "network namespace " + namespace("net");
    }

    private static String namespace(String kind) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/ns", kind)).toString();
        } catch (IOException e) {
            return "unknown"; // not Linux, or hidden by a container
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

    /** A process that has no descriptor left to ask with must not be taken for another host or user. */
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
            return Optional.empty(); // not Linux, or hidden by a container: the next best is used
        }
    }

    /** The name of this host, without asking a name server where the kernel knows it. */
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
