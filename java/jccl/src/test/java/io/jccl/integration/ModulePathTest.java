package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Communicator;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;

/**
 * An application module that requires {@code io.jccl} runs from the module path, and from an image that jlink has made.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ModulePathTest {

    private static final int LIMIT_SECONDS = 60;
    private static final int FIRST_JDK_THAT_WARNS = 24;

    private static final String DESCRIPTOR = "module application { requires io.jccl; }";

    private static final String APPLICATION =
            """
            package application;

            import io.jccl.Communicator;
            import io.jccl.DataBuffer;
            import io.jccl.ReduceOp;
            import io.jccl.UniqueId;

            public class Main {
                public static void main(String[] args) throws Exception {
                    UniqueId id = UniqueId.create();
                    Thread other = new Thread(() -> sum(id, 1));
                    other.start();
                    System.out.println(Communicator.class.getModule().getName() + " " + sum(id, 0));
                    other.join();
                }

                private static float sum(UniqueId id, int rank) {
                    float[] values = {rank + 1};
                    try (Communicator comm = Communicator.init(id, rank, 2)) {
                        comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
                    }
                    return values[0];
                }
            }
            """;

    @TempDir
    Path folder;

    private Path classes;
    private String modulePath;

    @BeforeEach
    void compile() throws Exception {
        classes = folder.resolve("classes");
        modulePath = String.join(
                File.pathSeparator, library(), placeOf(Logger.class), placeOf(NullMarked.class), classes.toString());
        assertThat(compile(APPLICATION)).isEmpty();
    }

    /** Returns a jar of the library: jlink of JDK 17 refuses a folder that contains classes for JDK 22. */
    private String library() throws Exception {
        String jar = folder.resolve("jccl.jar").toString();
        Path manifest = Files.writeString(folder.resolve("manifest"), "Multi-Release: true\n");
        assertThat(run(
                        "jar",
                        "--create",
                        "--file",
                        jar,
                        "--manifest",
                        manifest.toString(),
                        "-C",
                        placeOf(Communicator.class),
                        "."))
                .isEmpty();
        return jar;
    }

    private static String placeOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }

    /** Compiles the application and returns the compiler's messages. */
    private String compile(String source) throws Exception {
        Path sources = Files.createDirectories(folder.resolve("sources"));
        Path descriptor = Files.writeString(sources.resolve("module-info.java"), DESCRIPTOR);
        Path main = Files.writeString(sources.resolve("Main.java"), source);
        return run("javac", "-d", "" + classes, "--module-path", modulePath, "" + descriptor, "" + main);
    }

    private static String run(String tool, String... arguments) {
        Optional<ToolProvider> found = ToolProvider.findFirst(tool);
        assumeTrue(found.isPresent(), "this JDK has no " + tool);
        StringWriter said = new StringWriter();
        PrintWriter writer = new PrintWriter(said);
        found.orElseThrow().run(writer, writer, arguments);
        return said.toString();
    }

    private void requireSum(Path java, String... more) throws Exception {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        if (Runtime.version().feature() >= FIRST_JDK_THAT_WARNS) {
            command.add("--enable-native-access=io.jccl");
        }
        command.addAll(List.of(more));
        command.addAll(List.of("-m", "application/application.Main"));
        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        try {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as("the process ends")
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(errors)).doesNotContain("Exception").doesNotContain("WARNING");
        assertThat(output).hasContent("io.jccl 3.0");
    }

    @Test
    void applicationRunsFromTheModulePath() throws Exception {
        requireSum(Path.of(System.getProperty("java.home"), "bin", "java"), "--module-path", modulePath);
    }

    @Test
    void applicationRunsFromAnImageThatJlinkMade() throws Exception {
        Path image = folder.resolve("image");
        assertThat(run("jlink", "--module-path", modulePath, "--add-modules", "application", "--output", "" + image))
                .isEmpty();
        requireSum(image.resolve("bin").resolve("java"));
    }

    @Test
    void applicationSeesOnlyTheApi() throws Exception {
        assertThat(compile(APPLICATION.replace("import io.jccl.UniqueId;", "import io.jccl.runtime.*;")))
                .contains("package io.jccl.runtime is not visible");
    }
}
