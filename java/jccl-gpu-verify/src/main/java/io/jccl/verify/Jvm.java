package io.jccl.verify;

import io.jccl.cli.Main;
import io.jccl.cli.perf.RankProcesses;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Command lines of programs that run in a JVM of their own. */
final class Jvm {

    private static final String LIBRARY = "jccl.cuda.path";

    private Jvm() {}

    /** Returns the command line of a JVM with a class path and the libraries of this JVM; the main class follows it. */
    static List<String> withClassPath(String classPath) {
        return withClassPath(classPath, Map.of());
    }

    private static List<String> withClassPath(String classPath, Map<String, String> properties) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(RankProcesses.nativeAccess());
        command.add("-XX:MaxDirectMemorySize=4g");
        Map<String, String> all = new TreeMap<>();
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("jccl."))
                .forEach(name -> all.put(name, System.getProperty(name)));
        all.putAll(properties);
        all.forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.add("-cp");
        command.add(classPath);
        return command;
    }

    /** Returns the command line of the {@code jccl} command. */
    static List<String> jccl(List<String> arguments) {
        return program(Main.class, Map.of(), arguments);
    }

    /** Returns the command line of a main class in a JVM like that of the {@code jccl} command. */
    static List<String> program(Class<?> main, List<String> arguments) {
        return program(main, Map.of(), arguments);
    }

    /** Returns the command line of {@code jccl} in a JVM that starts faster and runs slower. */
    static List<String> brief(List<String> arguments) {
        return brief(Main.class, arguments);
    }

    /** Returns the command line of a main class in such a JVM. */
    static List<String> brief(Class<?> main, List<String> arguments) {
        return startingFast(program(main, Map.of(), arguments));
    }

    /** Returns the command line of {@code jccl} in such a JVM, with another library of the GPU backend. */
    static List<String> brief(Path library, List<String> arguments) {
        return startingFast(program(Main.class, Map.of(LIBRARY, library.toString()), arguments));
    }

    private static List<String> startingFast(List<String> command) {
        command.addAll(1, List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        return command;
    }

    private static List<String> program(Class<?> main, Map<String, String> properties, List<String> arguments) {
        List<String> command = withClassPath(System.getProperty("java.class.path"), properties);
        command.add(main.getName());
        command.addAll(arguments);
        return command;
    }

    /** Returns the arguments of {@code jccl perf} for device memory. */
    static List<String> devicePerf(String collective, int ranks, String... further) {
        List<String> arguments = new ArrayList<>(List.of("perf", collective, "-n", "" + ranks, "--memory", "device"));
        arguments.addAll(List.of(further));
        return arguments;
    }
}
