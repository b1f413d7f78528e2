package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResourceLimitsTest {

    private static final String NO_THREAD =
            "unable to create native thread: possibly out of memory or process/resource limits reached";

    @TempDir
    Path root;

    @BeforeEach
    void writeFiles() throws IOException {
        write(
                "proc/self/limits",
                """
                Limit                     Soft Limit           Hard Limit           Units
                Max processes             70                   90                   processes
                Max open files            64                   128                  files
                Max address space         unlimited            unlimited            bytes
                """);
        write("proc/self/status", "Name:\tjava\nThreads:\t17\n");
        write("proc/sys/kernel/threads-max", "1000\n");
        write("proc/sys/fs/file-max", "999\n");
        write("proc/sys/vm/max_map_count", "65530\n");
        write("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private ResourceLimits limits() {
        return new ResourceLimits(root);
    }

    @Test
    void theHintForOpenFilesNamesTheLimitEvenIfItCanNoLongerBeRead() throws IOException {
        ResourceLimits limits = limits();
        Files.delete(root.resolve("proc/self/limits"));
        assertThat(limits.hint("Too many open files")).contains("RLIMIT_NOFILE=64 hard=128", "ulimit -n");
    }

    @Test
    void theHintForThreadsNamesTheLimitsOfTheUserAndOfEveryCgroupOfVersion2() throws IOException {
        write("proc/self/cgroup", "0::/kubepods/pod1\n");
        write("sys/fs/cgroup/kubepods/pod1/pids.max", "40\n");
        write("sys/fs/cgroup/kubepods/pod1/pids.current", "40\n");
        write("sys/fs/cgroup/kubepods/pids.max", "max\n");
        assertThat(limits().hint(NO_THREAD))
                .contains("threads=17", "RLIMIT_NPROC=70 hard=90", "ulimit -u", "TasksMax=", "kernel.threads-max=1000")
                .contains("pids.current=40 pids.max=40 (/sys/fs/cgroup/kubepods/pod1)")
                .doesNotContain("pids.max=max");
    }

    @Test
    void theHintForThreadsNamesTheLimitOfTheCgroupOfVersion1ThatAContainerSeesAsRoot() throws IOException {
        write("proc/self/cgroup", "8:pids:/docker/abc\n4:memory:/docker/abc\n0::/\n");
        write("sys/fs/cgroup/pids/pids.max", "33\n");
        write("sys/fs/cgroup/pids/pids.current", "33\n");
        assertThat(limits().hint(NO_THREAD)).contains("pids.current=33 pids.max=33 (/sys/fs/cgroup/pids)");
    }

    @ParameterizedTest
    @CsvSource({
        "Too many open files in system, fs.file-max=999",
        "No space left on device, file system is full",
        "Disk quota exceeded, quota",
        "Read-only file system, writable",
        "Map failed, vm.max_map_count=65530",
        "Cannot assign requested address, no free port for it: net.ipv4.ip_local_port_range=32768-60999",
        "'Cannot run program \"sh\": error=11, Resource temporarily unavailable', another process: threads=17 RLIMIT_NPROC=70",
        "Cannot reserve 8 bytes of direct buffer memory, MaxDirectMemorySize"
    })
    void theHintForAnExhaustedResourceNamesTheRemedy(String text, String expected) {
        assertThat(limits().hint(text)).startsWith("; ").contains(expected);
    }

    @Test
    void errorsThatAreNoLimitOrThatNativeCodeExplainedGetNoHint() {
        assertThat(limits().hint("Connection refused")).isEmpty();
        assertThat(limits().hint("errno=24 (Too many open files); RLIMIT_NOFILE=64"))
                .isEmpty();
    }

    @Test
    void onlyAnExhaustedResourceOfThisHostIsAReachedLimit() {
        assertThat(ResourceLimits.isReached(new SocketException("Too many open files")))
                .isTrue();
        assertThat(ResourceLimits.isReached(new ConnectException("Connection refused")))
                .isFalse();
        assertThat(ResourceLimits.isReached(new ConnectException())).isFalse();
    }

    @Test
    void ephemeralPortsAreDescribedByTheirRange() {
        assertThat(limits().ephemeralPorts()).isEqualTo("net.ipv4.ip_local_port_range=32768-60999");
    }
}
