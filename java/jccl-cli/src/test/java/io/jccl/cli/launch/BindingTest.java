package io.jccl.cli.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.config.ProcessorSet;
import io.jccl.topology.ProcessorGroups;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests with two NUMA nodes of two cores each. Core 0 has processors 0 and 4, core 1 has 1 and 5, and so on. */
class BindingTest {

    @TempDir
    Path root;

    @BeforeEach
    void host() throws IOException {
        write("sys/devices/system/node/node0/cpumap", "33");
        write("sys/devices/system/node/node1/cpumap", "cc");
        for (int processor = 0; processor < 8; processor++) {
            write(
                    "sys/devices/system/cpu/cpu" + processor + "/topology/thread_siblings",
                    Integer.toHexString(0x11 << processor % 4));
        }
    }

    private void write(String path, String line) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, line + "\n");
    }

    private List<String> split(Binding binding, String allowed, int ranks, boolean shared) throws IOException {
        write("proc/self/status", "Cpus_allowed:\t" + allowed);
        return binding.split(ProcessorGroups.of(root), ranks, shared).stream()
                .map(ProcessorSet::format)
                .toList();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CORE | ff | 1 | 0-7",
                "CORE | ff | 2 | 0-1,4-5 2-3,6-7",
                "CORE | ff | 3 | 0,4 1,5 2-3,6-7",
                "CORE | ff | 4 | 0,4 1,5 2,6 3,7",
                "CORE | ff | 5 | 0 1,4 5 2,6 3,7",
                "CORE | ff | 8 | 0 4 1 5 2 6 3 7",
                "CORE | 0f | 2 | 0-1 2-3",
                "CORE | 82 | 2 | 1 7",
                "NUMA | ff | 1 | 0-7",
                "NUMA | ff | 2 | 0-1,4-5 2-3,6-7",
                "NUMA | ff | 4 | 0-1,4-5 0-1,4-5 2-3,6-7 2-3,6-7",
                "NUMA | 31 | 2 | 0,4-5 0,4-5",
                "NONE | ff | 4 | ''",
                "NONE | 00 | 4 | ''"
            })
    void processorsAreDividedEvenlyAmongTheRanks(Binding binding, String allowed, int ranks, String expected)
            throws IOException {
        assertThat(String.join(" ", split(binding, allowed, ranks, false))).isEqualTo(expected);
    }

    @Test
    void moreRanksThanProcessorsAreRefusedUnlessTheyMayShare() throws IOException {
        for (Binding binding : List.of(Binding.CORE, Binding.NUMA)) {
            assertThatThrownBy(() -> split(binding, "3", 3, false))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("bind=" + binding.name().toLowerCase(Locale.ROOT) + " ranks=3")
                    .hasMessageContaining("at most 2")
                    .hasMessageContaining("(0-1)")
                    .hasMessageContaining("--oversubscribe");
        }
        assertThat(split(Binding.CORE, "3", 4, true)).containsExactly("0", "0", "1", "1");
        assertThat(split(Binding.NUMA, "5", 3, true)).containsExactly("0", "0", "2");
    }

    @Test
    void withoutProcessorsNothingCanBeBound() {
        assertThatThrownBy(() -> split(Binding.CORE, "0", 1, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("--bind=none");
    }

    @Test
    void namesAreParsedInLowerCase() {
        assertThat(Binding.named("core")).isEqualTo(Binding.CORE);
        assertThatThrownBy(() -> Binding.named("socket"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("bind=\"socket\": unknown; name one of [core, numa, none]");
    }
}
