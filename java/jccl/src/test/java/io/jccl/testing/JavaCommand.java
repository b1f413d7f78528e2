package io.jccl.testing;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Composes commands for JVMs that tests start. Their options make the JVM start quickly, and equal this JVM's where
 * that matters.
 */
public final class JavaCommand {

    private static final String CHECK_JNI = "-Xcheck:jni";

    /** Texts by which findings of {@code -Xcheck:jni} are recognised. */
    private static final List<String> JNI_FINDINGS =
            List.of("in native method", "JNI call made without checking", "WARNING: JNI ");

    private JavaCommand() {}

    /**
     * Composes a command with this JVM's class path. Its JNI calls are checked if this JVM's are.
     *
     * @param arguments further options of the JVM, the class and its arguments
     */
    public static List<String> of(List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (ManagementFactory.getRuntimeMXBean().getInputArguments().contains(CHECK_JNI)) {
            command.add(CHECK_JNI);
        }
        command.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(arguments);
        return command;
    }

    /** Returns true if the output of a JVM that checks its JNI calls reports a wrong call. */
    public static boolean hasJniFinding(String output) {
        return JNI_FINDINGS.stream().anyMatch(output::contains);
    }
}
