package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BaselineTest {

    @TempDir
    Path directory;

    private Baseline baseline(double tolerance, PerfRow... rows) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (PerfRow row : rows) {
            lines.append(row.toJson(RunInfos.SAMPLE)).append('\n');
        }
        return new Baseline(
                EarlierRun.read(Files.writeString(directory.resolve("base.json"), lines)), Mode.AWAIT, tolerance);
    }

    @Test
    void aSlowdownWithinTheToleranceIsNoRegression() throws IOException {
        Baseline baseline =
                baseline(10, PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfTableTest.side(100, 0L)));
        baseline.compare(PerfTableTest.row("all_reduce", PerfTableTest.side(109.9, 0L), PerfTableTest.side(50, 0L)));
        assertThat(baseline.regressions()).isEmpty();
        assertThat(baseline.compared()).isEqualTo(2);
    }

    @Test
    void aSlowerMedianIsNamedWithItsSizeAndPlacement() throws IOException {
        Baseline baseline =
                baseline(10, PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfTableTest.side(100, 0L)));
        baseline.compare(PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfTableTest.side(150, 0L)));
        assertThat(baseline.regressions())
                .containsExactly(
                        "all_reduce bytes=1048576 in place: median 135.000 us, baseline 90.000 us: 50 % slower, "
                                + "tolerance 10 %");
    }

    @Test
    void aRunOfAnotherModeIsNotCompared() throws IOException {
        PerfRow row = PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfTableTest.side(100, 0L));
        Path file = Files.writeString(directory.resolve("awaited.json"), row.toJson(RunInfos.SAMPLE));
        Baseline baseline = new Baseline(EarlierRun.read(file), Mode.STREAM, 10);
        baseline.compare(row);
        assertThat(baseline.compared()).isZero();
    }

    @Test
    void tableShowsTheMediansThatAreCompared() throws IOException {
        Baseline baseline =
                baseline(10, PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfRow.Side.absent(true)));
        baseline.compare(PerfTableTest.row("all_reduce", PerfTableTest.side(150, 0L), PerfRow.Side.absent(true)));
        assertThat(baseline.table())
                .endsWith("#    1048576       90.00     135.00   1.50           -          -      -\n");
    }

    @Test
    void onlyRowsOfTheSameKindAreCompared() throws IOException {
        Baseline baseline =
                baseline(10, PerfTableTest.row("broadcast", PerfTableTest.side(1, 0L), PerfTableTest.side(1, 0L)));
        baseline.compare(PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfTableTest.side(150, 0L)));
        assertThat(baseline.compared()).isZero();
    }

    @Test
    void placementsThatDoNotExistAreLeftOut() throws IOException {
        PerfRow row = PerfTableTest.row("all_to_all", PerfTableTest.side(1, 0L), PerfRow.Side.absent(true));
        Baseline baseline = baseline(10, row);
        baseline.compare(row);
        assertThat(baseline.compared()).isEqualTo(1);
    }

    @Test
    void aFileThatIsNoBaselineIsNamedWithItsLine() throws IOException {
        Path file = Files.writeString(directory.resolve("x"), "\n{\"collective\":\"all_reduce\"}\n");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EarlierRun.read(file))
                .withMessageStartingWith("baseline=" + file + " line=2: not a line that jccl perf --json wrote");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EarlierRun.read(directory.resolve("missing")))
                .withMessageContaining("cannot be read");
    }
}
