package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs Spark 3.5 with SLF4J 1.7.5 on the class path. Maven can select that version, as it prefers the declaration that
 * is nearest to the application.
 */
@Tag("spark-3.5")
class EarlierSlf4jTest {

    @TempDir
    Path folder;

    @Test
    void barrierStageRunsWithSlf4j17() throws Exception {
        String earlier = System.getProperty("jccl.slf4j17");
        String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(entry -> Path.of(entry).getFileName().toString().startsWith("slf4j-api-") ? earlier : entry)
                .collect(Collectors.joining(File.pathSeparator));

        try (SparkProcess application = new SparkProcess(
                classPath,
                folder.resolve("output"),
                "org.apache.spark.deploy.SparkSubmit",
                "--master",
                "local[2]",
                "--conf",
                "spark.ui.enabled=false",
                "--class",
                BarrierApplication.class.getName(),
                "spark-internal")) {
            assertThat(application.awaitOutput(100))
                    .contains("0/2 sum 1 attempt 0", "1/2 sum 1 attempt 0")
                    .contains("Failed to load class \"org.slf4j.impl.StaticLoggerBinder\"") // printed by SLF4J 1.7 only
                    .doesNotContain("NoClassDefFoundError", "NoSuchMethodError");
        }
    }
}
