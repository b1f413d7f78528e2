package io.jccl.runtime;

import io.jccl.JcclException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The most memory that this process could use: that of the host, or what its control groups allow, plus swap. */
final class SystemMemory {

    private static final String CONTROL_GROUPS = "sys/fs/cgroup";

    /**
     * Size up to which nothing is checked: every host that runs a JVM has it, and reading the limits takes a tenth of a
     * millisecond.
     */
    private static final long ALWAYS_BYTES = 64L << 20;

    private final Path root;

    /** @param root root of the host's file system */
    SystemMemory(Path root) {
        this.root = root;
    }

    /**
     * Refuses a buffer that is larger than all memory. The kernel takes memory for a buffer only when the buffer is
     * touched, and would kill the process then.
     *
     * @throws JcclException if the buffer is larger than all memory
     */
    void requireFits(long bytes) {
        if (bytes <= ALWAYS_BYTES) {
            return;
        }
        long host = field("MemTotal:");
        long groups = limitOfControlGroups();
        long swap = field("SwapTotal:");
        long memory = Math.min(host == 0 ? Long.MAX_VALUE : host, groups);
        if (bytes - memory > swap) {
            throw new JcclException(
                    "bytes=" + bytes + " memory=" + memory + " swap=" + swap + ": more than all memory of "
                            + (groups < host ? "this process's control group" : "this host")
                            + "; allocate at most that, or use more hosts"
                            + (groups < host ? ", or raise the limit of the container" : ""));
        }
    }

    private long limitOfControlGroups() {
        long limit = Long.MAX_VALUE;
        for (String line : lines("proc/self/cgroup")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                limit = Math.min(limit, limitUpwards(CONTROL_GROUPS, parts[2], "memory.max"));
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
                limit = Math.min(limit, limitUpwards(CONTROL_GROUPS + "/memory", parts[2], "memory.limit_in_bytes"));
            }
        }
        return limit;
    }

    /**
     * Returns the lowest limit of a group and of its ancestors. In a container, only the topmost group may be visible.
     */
    private long limitUpwards(String mount, String group, String file) {
        long limit = Long.MAX_VALUE;
        for (String path = group; !path.isEmpty(); path = path.substring(0, path.lastIndexOf('/'))) {
            limit = Math.min(limit, number(mount + path + "/" + file));
        }
        return Math.min(limit, number(mount + "/" + file));
    }

    private long number(String file) {
        return lines(file).stream()
                .filter(line -> line.matches("[0-9]{1,18}")) // or "max"
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElse(Long.MAX_VALUE);
    }

    private long field(String name) {
        return lines("proc/meminfo").stream()
                .filter(line -> line.matches(name + "\\s+[0-9]{1,15} kB"))
                .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElse(0);
    }

    private List<String> lines(String file) {
        try {
            return Files.readAllLines(root.resolve(file));
        } catch (IOException | SecurityException e) {
            return List.of(); // without the file, no limit is known
        }
    }
}
