package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnitAccess;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.jccl.Communicator;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The library with SLF4J 1.7 on the class path, as in applications that Spark or Hadoop start. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EarlierSlf4jTest {

    private static final String PROPERTY = "jccl.slf4j17";
    private static final int LIMIT_SECONDS = 60;

    @TempDir
    Path folder;

    private Path api;

    @BeforeEach
    void find() {
        String file = System.getProperty(PROPERTY, "");
        assumeTrue(
                !file.isEmpty() && Files.isRegularFile(Path.of(file)),
                "-D" + PROPERTY + "=" + file + " names no slf4j-api 1.7: run the tests with Maven, which copies it");
        api = Path.of(file);
    }

    private static String placeOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }

    @Test
    void ranksWorkWithoutALoggerProvider() throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        String.join(
                                File.pathSeparator,
                                placeOf(Communicator.class),
                                api.toString(),
                                placeOf(EarlierSlf4jMain.class)),
                        EarlierSlf4jMain.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("JCCL_BUFSIZE", "1M");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as("the process ends")
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(output))
                .contains("sum=3.0")
                .contains("jccl: warning: JCCL_BUFSIZE")
                .contains("Failed to load class \"org.slf4j.impl.StaticLoggerBinder\"") // only SLF4J 1.7 prints this
                .doesNotContain("Exception", "NoSuchMethodError", "NoClassDefFoundError");
        assertThat(process.exitValue()).isZero();
    }

    @Test
    void everySlf4jMethodThatTheLibraryCallsIsInVersion17() throws Exception {
        JavaClasses library = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.jccl");
        List<JavaCodeUnitAccess<?>> calls = new ArrayList<>();
        for (JavaClass each : library) {
            calls.addAll(each.getMethodCallsFromSelf());
            calls.addAll(each.getMethodReferencesFromSelf());
        }
        calls.removeIf(call -> !ownerOf(call).startsWith("org.slf4j."));
        assertThat(calls).as("calls of SLF4J").hasSizeGreaterThan(20);

        TreeSet<String> missing = new TreeSet<>();
        try (URLClassLoader earlier =
                new URLClassLoader(new URL[] {api.toUri().toURL()}, ClassLoader.getPlatformClassLoader())) {
            for (JavaCodeUnitAccess<?> call : calls) {
                if (!isThere(call, earlier)) {
                    missing.add(call.getDescription());
                }
            }
        }
        assertThat(missing).isEmpty();
    }

    private static String ownerOf(JavaAccess<?> call) {
        return call.getTargetOwner().getName();
    }

    private static boolean isThere(JavaCodeUnitAccess<?> call, ClassLoader loader) throws ClassNotFoundException {
        List<String> parameters = call.getTarget().getRawParameterTypes().stream()
                .map(JavaClass::getName)
                .toList();
        return Arrays.stream(Class.forName(ownerOf(call), false, loader).getMethods())
                .filter(method -> method.getName().equals(call.getName()))
                .anyMatch(method -> Arrays.stream(method.getParameterTypes())
                        .map(Class::getName)
                        .toList()
                        .equals(parameters));
    }
}
