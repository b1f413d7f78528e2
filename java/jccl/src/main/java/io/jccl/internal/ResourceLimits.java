package io.jccl.internal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The limits that the system sets for this process, for messages about resources that are used up. {@code
 * native/base/limit_hint.cc} does the same for native code.
 */
public final class ResourceLimits {

    private static final ResourceLimits OF_THIS_PROCESS = new ResourceLimits(Path.of("/"));
    private static final String UNKNOWN = "unknown";
    private static final String NO_ADDRESS = "Cannot assign requested address";

    private final Path root;

    /** The limit of open files when this object was made. Used if no file descriptor is left to read it again. */
    private final String openFiles;

    /** @param root the root of the host's file system; tests have their own */
    ResourceLimits(Path root) {
        this.root = root;
        this.openFiles = limit("Max open files");
    }

    /** Returns the limits of this process. */
    public static ResourceLimits ofThisProcess() {
        return OF_THIS_PROCESS;
    }

    /**
     * Returns the limit that an exception's text is about, with its value and the remedy, after a semicolon; empty if
     * the text is not about a limit.
     *
     * @param text the text of an exception of the system or of the JVM
     */
    public String hint(String text) {
        if (text.contains("RLIMIT_") || text.contains("sysctl")) {
            return ""; // native code has added the hint already
        }
        if (text.contains("Too many open files in system")) {
            return "; the host has used all its file descriptors: " + sysctl("fs.file-max") + "; raise it with sysctl";
        }
        if (text.contains("Too many open files")) {
            return "; this process has used all its file descriptors: RLIMIT_NOFILE=" + openFiles()
                    + "; raise it (ulimit -n, LimitNOFILE= of a service, --ulimit nofile= of a container)";
        }
        boolean noProcess = text.contains("error=11,"); // the EAGAIN of ProcessBuilder
        if (noProcess
                || text.contains("unable to create native thread")
                || text.contains("unable to create new native thread")) {
            return "; this process may not start another " + (noProcess ? "process: " : "thread: ") + threads()
                    + "; raise the one that is reached (ulimit -u, TasksMax= of a service, --pids-limit of a container)";
        }
        if (text.contains("No space left on device")) {
            return "; the file system is full; free some of it, or make it larger";
        }
        if (text.contains("Disk quota exceeded")) {
            return "; the user's quota of this file system is used up; free some of it, or raise the quota";
        }
        if (text.contains("Read-only file system")) {
            return "; mount it writable, or choose another";
        }
        if (text.contains("Map failed") || text.contains("Cannot allocate memory")) {
            return "; no address space or no memory is left: " + sysctl("vm.max_map_count") + " RLIMIT_AS="
                    + limit("Max address space")
                    + "; raise the one that is reached, or give the host or its control group more memory";
        }
        if (text.contains(NO_ADDRESS)) {
            return "; this host has no such address, or no free port for it: " + ephemeralPorts();
        }
        if (text.contains("direct buffer memory")) {
            return "; raise -XX:MaxDirectMemorySize";
        }
        return "";
    }

    /**
     * Returns true if an exception shows that this process or host has used up a resource. Peers do not cause such
     * exceptions.
     */
    public static boolean isReached(Throwable exception) {
        String text = String.valueOf(exception.getMessage());
        return text.contains("Too many open files")
                || text.contains("No buffer space available")
                || text.contains("Cannot allocate memory");
    }

    /** Returns the range of ports from which the kernel chooses. */
    public String ephemeralPorts() {
        return sysctl("net.ipv4.ip_local_port_range").replace('\t', '-');
    }

    /** Returns the first port that needs no privileges. */
    public String unprivilegedPorts() {
        return sysctl("net.ipv4.ip_unprivileged_port_start");
    }

    private String openFiles() {
        String now = limit("Max open files");
        return now.equals(UNKNOWN) ? openFiles : now;
    }

    private String threads() {
        StringBuilder text = new StringBuilder("threads=" + field("proc/self/status", "Threads:"))
                .append(" RLIMIT_NPROC=")
                .append(limit("Max processes"))
                .append(" (ulimit -u, all threads of the user)");
        for (String line : lines("proc/self/cgroup")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                appendUpwards(text, "sys/fs/cgroup", parts[2]);
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("pids")) {
                appendUpwards(text, "sys/fs/cgroup/pids", parts[2]);
            }
        }
        return text.append(' ').append(sysctl("kernel.threads-max")).toString();
    }

    /** Appends the limits of a control group and of the groups above it. A container may see only the last one. */
    private void appendUpwards(StringBuilder text, String mount, String group) {
        for (String path = group; ; path = path.substring(0, Math.max(0, path.lastIndexOf('/')))) {
            String folder = mount + (path.equals("/") ? "" : path);
            String max = first(folder + "/pids.max");
            if (!max.equals(UNKNOWN) && !max.equals("max")) {
                text.append(" pids.current=")
                        .append(first(folder + "/pids.current"))
                        .append(" pids.max=")
                        .append(max)
                        .append(" (/")
                        .append(folder)
                        .append(')');
            }
            if (path.isEmpty() || path.equals("/")) {
                return;
            }
        }
    }

    private String sysctl(String name) {
        return name + "=" + first("proc/sys/" + name.replace('.', '/'));
    }

    /** Returns a soft limit followed by its hard limit. */
    private String limit(String name) {
        return lines("proc/self/limits").stream()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()).strip().split("\\s+"))
                .filter(values -> values.length > 1)
                .findFirst()
                .map(values -> values[0] + " hard=" + values[1])
                .orElse(UNKNOWN);
    }

    private String field(String file, String name) {
        Optional<String> line =
                lines(file).stream().filter(one -> one.startsWith(name)).findFirst();
        return line.map(one -> one.substring(name.length()).strip()).orElse(UNKNOWN);
    }

    private String first(String file) {
        List<String> lines = lines(file);
        return lines.isEmpty() ? UNKNOWN : lines.get(0).strip();
    }

    private List<String> lines(String file) {
        try {
            return Files.readAllLines(root.resolve(file), StandardCharsets.ISO_8859_1);
        } catch (IOException | RuntimeException e) {
            return List.of(); // the file does not exist, or no file descriptor is left to read it
        }
    }
}
