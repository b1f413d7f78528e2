package io.jccl.device;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;

/** Which machine and which process this is. */
public final class HostIdentity {

    /** Drawn once, so that a process id that two containers share does not make two processes one. */
    private static final String PROCESS = ProcessHandle.current().pid() + "-" + UUID.randomUUID();

    private HostIdentity() {}

    /** Tells processes apart, on whatever machine. */
    public static String process() {
        return PROCESS;
    }

    /**
     * Tells machines apart: the kernel's boot id, which containers of one machine share; the host name where there is none.
     */
    public static String machine() {
        return read(Path.of("/proc/sys/kernel/random/boot_id")).orElseGet(HostIdentity::hostName);
    }

    private static Optional<String> read(Path file) {
        try {
            return Optional.of(Files.readString(file).strip()).filter(text -> !text.isEmpty());
        } catch (IOException e) {
            return Optional.empty(); // not Linux, or hidden by a container: the next best is used
        }
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
