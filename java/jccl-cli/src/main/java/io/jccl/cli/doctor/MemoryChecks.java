package io.jccl.cli.doctor;

import io.jccl.HostBuffer;
import io.jccl.cli.output.ByteSizes;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.util.List;
import java.util.OptionalLong;

/** Checks shared memory, limits on memory, and huge pages. */
final class MemoryChecks {

    private static final long PROBE_BYTES = 1 << 20;
    private static final long SMALL_SHM_BYTES = 256L << 20;
    private static final long SMALL_MEMORY_BYTES = 512L << 20;

    private MemoryChecks() {}

    /** Allocates shared memory as operations do, writes to it and reads it back. */
    static List<Finding> sharedMemory(Host host) {
        try (HostBuffer buffer = HostBuffer.allocate(PROBE_BYTES)) {
            buffer.asByteBuffer(PROBE_BYTES - Long.BYTES, Long.BYTES).putLong(0, 42);
            boolean kept =
                    buffer.asByteBuffer(PROBE_BYTES - Long.BYTES, Long.BYTES).getLong(0) == 42;
            return List.of(
                    kept
                            ? Finding.ok(
                                    "shared-memory",
                                    "a segment of " + ByteSizes.format(PROBE_BYTES) + " can be made and used")
                            : Finding.fail(
                                    "shared-memory", "a segment lost what was written to it", "report this as a bug"));
        } catch (RuntimeException | LinkageError e) {
            return List.of(Finding.fail(
                    "shared-memory",
                    "no segment can be made: " + Causes.describe(e),
                    "repair the native library first if it does not load; else allow memfd_create, or make"
                            + " /dev/shm larger"));
        }
    }

    /** Checks the size of /dev/shm, which is the fallback if memfd_create is forbidden. */
    static List<Finding> devShm(Host host) {
        try {
            FileStore store = Files.getFileStore(host.at("/dev/shm"));
            String seen = "free=" + ByteSizes.format(store.getUsableSpace()) + " of "
                    + ByteSizes.format(store.getTotalSpace());
            return List.of(
                    store.getUsableSpace() >= SMALL_SHM_BYTES
                            ? Finding.ok("dev-shm", seen)
                            : Finding.warn(
                                    "dev-shm",
                                    seen + ": too small to be the fallback where memfd_create is forbidden",
                                    "in a container: docker run --shm-size=1g, or mount a memory volume at /dev/shm"));
        } catch (IOException e) {
            return List.of(Finding.warn(
                    "dev-shm",
                    "/dev/shm is not there: no fallback where memfd_create is forbidden",
                    "mount a tmpfs at /dev/shm"));
        }
    }

    /** Checks the memory that the host and the control groups leave to this process. */
    static List<Finding> available(Host host) {
        OptionalLong free = host.field("/proc/meminfo", "MemAvailable:");
        long bytes = free.isPresent() ? free.getAsLong() * 1024 : Long.MAX_VALUE;
        String seen = free.isPresent() ? "available=" + ByteSizes.format(bytes) : "available memory not visible";
        long limit = Long.MAX_VALUE;
        for (String group : ControlGroups.directories(host, "memory")) {
            limit = Math.min(limit, limit(host, group + "/memory.max"));
            limit = Math.min(limit, limit(host, group + "/memory.limit_in_bytes"));
        }
        seen += limit < 1L << 60 ? ", cgroup limit=" + ByteSizes.format(limit) : ", no cgroup limit";
        long usable = Math.min(bytes, limit);
        return List.of(
                usable >= SMALL_MEMORY_BYTES * host.ranks()
                        ? Finding.ok("memory", seen)
                        : Finding.warn(
                                "memory",
                                seen + ": less than " + ByteSizes.format(SMALL_MEMORY_BYTES) + " for each of ranks="
                                        + host.ranks() + "; shared segments count against the limit",
                                "raise the container's memory limit, or run fewer ranks"));
    }

    private static long limit(Host host, String file) {
        return host.read(file)
                .filter(text -> text.matches("\\d+"))
                .map(Long::parseLong)
                .orElse(Long.MAX_VALUE);
    }

    static List<Finding> hugePages(Host host) {
        String path = "/sys/kernel/mm/transparent_hugepage/";
        String enabled = chosen(host, path + "enabled");
        String seen =
                "transparent huge pages=" + enabled + ", for shared memory=" + chosen(host, path + "shmem_enabled");
        return List.of(
                !enabled.equals("never")
                        ? Finding.ok("huge-pages", seen)
                        : Finding.warn(
                                "huge-pages",
                                seen + ": large buffers take many small pages",
                                "echo madvise > " + path + "enabled"));
    }

    private static String chosen(Host host, String file) {
        return host.read(file)
                .map(text -> text.replaceAll(".*\\[(\\w+)].*", "$1"))
                .orElse("not visible");
    }
}
