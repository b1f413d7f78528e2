package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs each of the {@link Traps} in processes of its own, which it could crash. */
class TrapsTest {

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"collections", "forgotten", "owners", "deallocate", "scope", "built in a scope", "nested"})
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void ranksSurvive(String trap) throws Exception {
        for (String output :
                PyTorchRanks.in(folder).environment("OMP_NUM_THREADS", "1").run(2, Traps.class, trap)) {
            assertThat(output).contains(Traps.RESULT);
        }
    }

    /** Starts ranks on a host where JavaCPP has not unpacked the native libraries yet. */
    @Test
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void ranksSurviveUnpackingTheNativeLibraries() throws Exception {
        for (String output : PyTorchRanks.in(folder)
                .jvm("-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"))
                .run(4, Traps.class, "unpacking")) {
            assertThat(output).contains(Traps.RESULT);
        }
    }

    @ParameterizedTest
    @CsvSource({"''", "3"})
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void ranksDivideTheCoresUnlessTheEnvironmentNamesANumberOfThreads(String chosen) throws Exception {
        for (String output : PyTorchRanks.in(folder)
                .environment("OMP_NUM_THREADS", chosen)
                .environment("MKL_NUM_THREADS", "")
                .run(2, Traps.class, "threads")) {
            assertThat(output).contains(Traps.RESULT);
        }
    }
}
