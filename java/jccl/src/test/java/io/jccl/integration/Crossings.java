package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.nativelib.DeviceEngine;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Counts calls of all native methods of {@code io.jccl.nativelib}, by any thread of this process. The test library puts
 * a stub before each method, so the library under test is unchanged, and no call escapes.
 */
final class Crossings {

    private static List<String> counted = List.of();

    private Crossings() {}

    /** Begins to count; skips the test on processors without stubs. The natives must have been loaded. */
    static void begin() throws Exception {
        assumeTrue(System.getProperty("os.arch").equals("amd64"), "stubs exist for x86-64 only");
        if (!counted.isEmpty()) {
            return;
        }
        System.load(System.getProperty(NativeFunctions.LIBRARY));
        List<String> libraries = libraries();
        List<String> names = new ArrayList<>();
        for (Class<?> one : classes()) {
            for (Method method : one.getDeclaredMethods()) {
                if (Modifier.isNative(method.getModifiers())) {
                    assertThat(libraries)
                            .as("a library has %s", method)
                            .anyMatch(library ->
                                    count(one, library, symbol(method), method.getName(), signature(method)));
                    names.add(one.getSimpleName() + "." + method.getName());
                }
            }
        }
        counted = names;
    }

    /** Returns the number of calls so far of each method that was called. */
    static Map<String, Long> calls() {
        Map<String, Long> calls = new TreeMap<>();
        for (int index = 0; index < counted.size(); index++) {
            long number = calls(index);
            if (number > 0) {
                calls.merge(counted.get(index), number, Long::sum);
            }
        }
        return calls;
    }

    private static List<Class<?>> classes() throws IOException, URISyntaxException, ClassNotFoundException {
        Path root = Path.of(DeviceEngine.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        List<Class<?>> classes = new ArrayList<>();
        try (Stream<Path> files = Files.list(root.resolve("io/jccl/nativelib"))) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString();
                if (name.endsWith(".class") && !name.startsWith("package-info")) {
                    classes.add(Class.forName("io.jccl.nativelib." + name.replace(".class", "")));
                }
            }
        }
        return classes;
    }

    private static List<String> libraries() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .filter(line -> line.contains("/") && line.contains("jccl") && line.contains(".so"))
                .map(line -> line.substring(line.indexOf('/')).replace(" (deleted)", ""))
                .distinct()
                .toList();
    }

    private static String symbol(Method method) {
        return "Java_" + mangled(method.getDeclaringClass().getName()) + "_" + mangled(method.getName());
    }

    private static String mangled(String name) {
        return name.replace("_", "_1").replace("$", "_00024").replace('.', '_');
    }

    private static String signature(Method method) {
        return Stream.of(method.getParameterTypes())
                        .map(Class::descriptorString)
                        .collect(Collectors.joining("", "(", ")"))
                + method.getReturnType().descriptorString();
    }

    private static native boolean count(Class<?> of, String library, String symbol, String name, String signature);

    private static native long calls(int index);
}
