package io.jccl.integration;

import io.jccl.nativelib.NativeMemory;
import io.jccl.testing.WorkerProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A JVM that runs scenarios of {@link RankMain} one after another, because starting a JVM takes longer than most
 * scenarios. Each line of standard input is a scenario in the format of {@link #command}. The process ends with its
 * input.
 */
final class RankServer {

    /**
     * Prefix of the report that a scenario has ended, before the status with which {@link RankMain} would have exited.
     */
    static final String END = "end ";

    private static final String SEPARATOR = "\t";
    private static final int FIRST_VARIABLE = 2;

    private final PrintStream reports = System.out;

    private RankServer() {}

    public static void main(String[] arguments) throws IOException {
        RankServer server = new RankServer();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                List<String> command = List.of(line.split(SEPARATOR, -1));
                // This thread continues to read, so that it notices the end of the input.
                new Thread(() -> server.serve(command), "rank").start();
            }
        }
        System.exit(0);
    }

    /** Returns the command that starts a rank server: options and main class. */
    static List<String> java() {
        List<String> java = new ArrayList<>(List.of(
                "-Xmx256m",
                // setVariable accesses private fields of java.util.
                "--add-opens=java.base/java.util=ALL-UNNAMED"));
        String library = System.getProperty(NativeFunctions.LIBRARY);
        if (library != null) {
            java.add("-D" + NativeFunctions.LIBRARY + "=" + library);
        }
        java.add(RankServer.class.getName());
        return java;
    }

    /**
     * Returns the input line of a scenario.
     *
     * @param output the file for what the scenario prints
     * @param variables additional environment variables of the scenario, as NAME=VALUE
     * @param arguments the arguments of {@link RankMain}
     */
    static String command(Path output, List<String> variables, List<String> arguments) {
        return String.join(SEPARATOR, output.toString(), Integer.toString(variables.size()))
                + SEPARATOR
                + String.join("", variables.stream().map(one -> one + SEPARATOR).toList())
                + String.join(SEPARATOR, arguments);
    }

    private void serve(List<String> command) {
        int first = FIRST_VARIABLE + Integer.parseInt(command.get(1));
        List<String> variables = command.subList(FIRST_VARIABLE, first);
        int status = 1;
        PrintStream err = System.err;
        Properties properties = (Properties) System.getProperties().clone();
        try (PrintStream out =
                new PrintStream(Files.newOutputStream(Path.of(command.get(0))), true, StandardCharsets.UTF_8)) {
            System.setOut(out);
            System.setErr(out);
            Map<String, String> before = new HashMap<>();
            try {
                for (String variable : variables) {
                    String name = variable.substring(0, variable.indexOf('='));
                    if (!before.containsKey(name)) { // a name may occur twice, and null is a value here
                        before.put(name, System.getenv(name));
                    }
                    setVariable(name, variable.substring(name.length() + 1));
                }
                RankMain.main(command.subList(first, command.size()).toArray(String[]::new));
                status = 0;
            } catch (Throwable e) {
                e.printStackTrace(out); // as a JVM prints what main throws
            }
            before.forEach(RankServer::setVariable);
        } catch (IOException e) {
            e.printStackTrace(err);
        } finally {
            System.setOut(reports);
            System.setErr(err);
            System.setProperties(properties);
        }
        reports.println(WorkerProcess.REPORT + END + status);
        reports.flush();
    }

    /** Sets an environment variable of this process, for Java and for native code; a null value removes it. */
    private static void setVariable(String name, String value) {
        if (value == null) {
            variablesOfJava().remove(name);
        } else {
            variablesOfJava().put(name, value);
        }
        System.load(System.getProperty(NativeFunctions.LIBRARY));
        ByteBuffer nameText = text(name);
        ByteBuffer valueText = text(value == null ? "" : value);
        NativeFunctions.setVariable(
                NativeMemory.directAddress(nameText), value == null ? 0 : NativeMemory.directAddress(valueText));
        Reference.reachabilityFence(nameText);
        Reference.reachabilityFence(valueText);
    }

    private static ByteBuffer text(String text) {
        byte[] bytes = (text + '\0').getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocateDirect(bytes.length).put(0, bytes);
    }

    /** Returns the modifiable map behind {@link System#getenv()}. */
    @SuppressWarnings("unchecked")
    private static Map<String, String> variablesOfJava() {
        try {
            Field unmodifiable = System.getenv().getClass().getDeclaredField("m");
            unmodifiable.setAccessible(true);
            return (Map<String, String>) unmodifiable.get(System.getenv());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Java keeps its environment in another way", e);
        }
    }
}
