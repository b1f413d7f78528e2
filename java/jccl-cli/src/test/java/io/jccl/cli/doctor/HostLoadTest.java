package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.doctor.Finding.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests hosts with eight processors. Their files change while the check waits for 300 ms, which are 30 ticks of each
 * processor.
 */
class HostLoadTest {

    private static final int PROCESSORS = 8;
    private static final long SAMPLE = 30;

    @TempDir
    Path root;

    private long nanos;

    @BeforeEach
    void idle() {
        processors(0, 1000, 0);
        own(0);
        write("/proc/self/status", "Name:\tjava\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
        write("/proc/loadavg", "3.10 1.00 0.50 4/321 12345\n");
    }

    private void write(String path, String content) {
        try {
            Path file = root.resolve(path.substring(1));
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes {@code /proc/stat} with the same ticks for every processor. */
    private void processors(long busy, long idle, long stolen) {
        StringBuilder stat = new StringBuilder("cpu  1 2 3 4 5 6 7 8 0 0\n");
        for (int i = 0; i < PROCESSORS; i++) {
            stat.append("cpu%d %d 0 0 %d 0 0 0 %d 0 0\n".formatted(i, busy, idle, stolen));
        }
        write("/proc/stat", stat + "intr 1 2 3 4 5 6 7 8 9\nctxt 5\n");
    }

    private void own(long ticks) {
        write("/proc/self/stat", "77 (a (java) b) S 1 77 77 0 -1 4194304 1 2 3 4 " + ticks + " 0 0 0 20 0 9 0 100\n");
    }

    private void pressure(long micros) {
        write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + micros + "\n");
    }

    private Finding check(int ranks, Runnable meanwhile) {
        return HostLoad.check(
                new Host(root, Map.of(), PROCESSORS, ranks),
                () -> {
                    meanwhile.run();
                    nanos += TimeUnit.MILLISECONDS.toNanos(10 * SAMPLE);
                },
                () -> nanos);
    }

    private void halfBusy() {
        processors(SAMPLE / 2, 1000 + SAMPLE / 2, 0);
    }

    @Test
    void anIdleHostIsFine() {
        Finding finding = check(8, () -> processors(0, 1000 + SAMPLE, 0));
        assertThat(finding)
                .isEqualTo(Finding.ok("load", "processors=8, wanted=8.0, used by others=0.0, load average=3.10"));
    }

    @Test
    void usedProcessorsAreAWarningIfRanksWantAll() {
        Finding finding = check(8, this::halfBusy);
        assertThat(finding.status()).isEqualTo(Status.WARN);
        assertThat(finding.detail())
                .startsWith("processors=8, wanted=8.0, used by others=4.0, load average=3.10: ranks wait");
        assertThat(finding.remedy()).contains("end or move the other work");
    }

    @Test
    void usedProcessorsDoNotMatterIfEnoughAreLeft() throws IOException {
        assertThat(check(4, this::halfBusy).status()).isEqualTo(Status.OK);
        assertThat(check(5, () -> processors(SAMPLE, 1000 + SAMPLE, 0)).status())
                .as("a second interval, just as busy")
                .isEqualTo(Status.WARN);
        write("/proc/self/cgroup", "0::/job\n");
        write("/sys/fs/cgroup/job/cpu.max", "200000 100000\n");
        processors(0, 1000, 0);
        Finding limited = check(8, this::halfBusy);
        assertThat(limited.status()).isEqualTo(Status.OK);
        assertThat(limited.detail()).contains("wanted=2.0, used by others=4.0");
    }

    @Test
    void timeOfThisProcessDoesNotCountAsUsedByOthers() {
        Finding finding = check(8, () -> {
            halfBusy();
            own(SAMPLE / 2 * PROCESSORS);
        });
        assertThat(finding.status()).isEqualTo(Status.OK);
        assertThat(finding.detail()).contains("used by others=0.0");
    }

    @Test
    void onlyProcessorsThatThisProcessMayUseCount() {
        write("/proc/self/status", "Cpus_allowed:\t00000000,00000003\n");
        Finding finding = check(8, this::halfBusy);
        assertThat(finding.status()).isEqualTo(Status.WARN);
        assertThat(finding.detail()).startsWith("processors=2, wanted=2.0, used by others=1.0");
    }

    @Test
    void tasksThatWaitForProcessorsAreAWarningIfRanksWantAll() {
        pressure(1_000_000);
        Runnable waiting = () -> {
            processors(0, 1000 + SAMPLE, 0);
            pressure(1_126_000);
        };
        Finding finding = check(8, waiting);
        assertThat(finding.status()).isEqualTo(Status.WARN);
        assertThat(finding.detail()).contains("tasks wait 42 % of the time");
        pressure(1_000_000);
        assertThat(check(7, waiting).status()).isEqualTo(Status.OK);
    }

    @Test
    void timeTakenByTheHypervisorHasItsOwnRemedy() {
        Finding finding = check(8, () -> processors(0, 1000 + SAMPLE / 2, SAMPLE / 2));
        assertThat(finding.status()).isEqualTo(Status.WARN);
        assertThat(finding.detail()).contains("used by others=4.0, taken by the hypervisor=4.0");
        assertThat(finding.remedy()).contains("virtual machine's own");
    }

    @Test
    void aHostWithoutFilesIsFine() {
        Host bare = new Host(root.resolve("nothing"), Map.of(), PROCESSORS, PROCESSORS);
        assertThat(HostLoad.check(bare, () -> {}, () -> 0)).isEqualTo(Finding.ok("load", "not visible here"));
    }

    @Test
    void thisHostCanBeChecked() {
        assertThat(HostLoad.check(Host.here(0)).detail()).startsWith("processors=");
    }
}
