package io.jccl.runtime;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.HostBuffer;
import io.jccl.JcclException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SystemMemoryTest {

    private static final long GIB = 1L << 30;

    @TempDir
    Path root;

    private void write(String file, String text) throws IOException {
        Files.createDirectories(root.resolve(file).getParent());
        Files.writeString(root.resolve(file), text);
    }

    private void host(long memoryGib, long swapGib) throws IOException {
        write(
                "proc/meminfo",
                "MemTotal:       " + memoryGib * 1048576 + " kB\nMemFree:   1 kB\nSwapTotal:      " + swapGib * 1048576
                        + " kB\n");
    }

    private void fits(long bytes) {
        assertThatCode(() -> new SystemMemory(root).requireFits(bytes)).doesNotThrowAnyException();
    }

    private void refused(long bytes, String message) {
        assertThatThrownBy(() -> new SystemMemory(root).requireFits(bytes))
                .isInstanceOf(JcclException.class)
                .hasMessage(message);
    }

    @Test
    void aBufferMustFitIntoMemoryAndSwapOfTheHost() throws IOException {
        host(4, 1);
        fits(5 * GIB);
        refused(
                5 * GIB + 1,
                "bytes=5368709121 memory=4294967296 swap=1073741824: more than all memory of this host; allocate at most"
                        + " that, or use more hosts");
        refused(
                Long.MAX_VALUE,
                "bytes=9223372036854775807 memory=4294967296 swap=1073741824: more than all memory of this host;"
                        + " allocate at most that, or use more hosts");
    }

    @Test
    void theLowestLimitOfTheControlGroupsCounts() throws IOException {
        host(4, 0);
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        fits(4 * GIB);
        write("sys/fs/cgroup/a/memory.max", "2147483648\n");
        write("sys/fs/cgroup/memory.max", "3221225472\n");
        fits(2 * GIB);
        refused(
                3 * GIB,
                "bytes=3221225472 memory=2147483648 swap=0: more than all memory of this process's control group; allocate"
                        + " at most that, or use more hosts, or raise the limit of the container");
    }

    @Test
    void limitsOfCgroupVersion1CountToo() throws IOException {
        host(4, 0);
        write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n");
        write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        fits(4 * GIB);
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
        refused(
                2 * GIB,
                "bytes=2147483648 memory=1073741824 swap=0: more than all memory of this process's control group; allocate"
                        + " at most that, or use more hosts, or raise the limit of the container");
    }

    @Test
    void nothingIsRefusedIfNoLimitIsKnown() {
        fits(Long.MAX_VALUE);
    }

    @Test
    void aBufferLargerThanTheMemoryOfTheHostIsRefusedBeforeItIsTouched() {
        assertThatThrownBy(() -> HostBuffer.allocate(1L << 46))
                .isInstanceOf(JcclException.class)
                .hasMessageStartingWith("bytes=70368744177664 memory=")
                .hasMessageContaining(": more than all memory of this ");
    }
}
