package io.jccl.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks that messages quote another exception by {@code Causes.describe}: many exceptions of Java have no message, or
 * only a name or a path. Exceptions of this library, and a few others, always have a sentence as their message.
 */
class CauseRuleTest {

    private static final Path JAVA = Path.of("..");
    private static final Pattern USE = Pattern.compile("\\b(\\w+)\\.getMessage\\(\\)");
    private static final Pattern USE_OF_RETURNED = Pattern.compile("\\)\\.getMessage\\(\\)|::getMessage");

    /**
     * Files that may call {@code getMessage}: they search the message, copy an exception, must not allocate, or are in
     * a module that cannot use {@code Causes}.
     */
    private static final Set<String> READERS = Set.of(
            "CallerFuture.java",
            "Causes.java",
            "ErrorFrame.java",
            "JCudaLibrary.java",
            "LinkFailures.java",
            "NativeLibraries.java",
            "ResourceLimits.java",
            "Rethrown.java",
            "TopologyXmlReader.java");

    /**
     * Files that may call {@code getMessage} on the result of a method, because these methods return only exceptions of
     * this library.
     */
    private static final Set<String> RETURNED =
            Set.of("CommunicatorImpl.java", "LiveView.java", "LogThread.java", "ProcessAffinity.java");

    /** Types of exceptions, of other libraries, that always have a sentence as their message. */
    private static final Set<String> SPEAKING = Set.of("ParameterException", "CommandLine.ParameterException");

    @Test
    void noMessageQuotesTheBareMessageOfAJavaException() throws IOException {
        Set<String> ours = ownExceptions();
        List<String> violations = new ArrayList<>();
        int uses = 0;
        for (Path file : sources()) {
            List<String> lines = Files.readAllLines(file);
            for (int line = 0; line < lines.size(); line++) {
                if (USE_OF_RETURNED.matcher(lines.get(line)).find()
                        && !RETURNED.contains(file.getFileName().toString())) {
                    violations.add(
                            file + ":" + (line + 1) + " " + lines.get(line).strip());
                }
                Matcher use = USE.matcher(lines.get(line));
                while (use.find()) {
                    uses++;
                    String type = typeOf(use.group(1), lines, line);
                    if (!READERS.contains(file.getFileName().toString()) && !isSpeaking(type, ours)) {
                        violations.add(file + ":" + (line + 1) + " " + use.group(1) + " is of type " + type);
                    }
                }
            }
        }
        assertThat(uses).isPositive();
        assertThat(violations).isEmpty();
    }

    private static boolean isSpeaking(String type, Set<String> ours) {
        return Stream.of(type.split("\\|"))
                .map(String::strip)
                .allMatch(one -> SPEAKING.contains(one) || ours.contains(one.substring(one.lastIndexOf('.') + 1)));
    }

    /**
     * Returns the declared type of a name. The declaration is that of a catch clause, parameter or variable in the
     * nearest line at or above {@code from}.
     */
    private static String typeOf(String name, List<String> lines, int from) {
        Pattern declared = Pattern.compile(
                "catch \\(([^)]*?)\\s+" + name + "\\)|\\b([A-Z][\\w.]*(?:<[^>]*>)?)\\s+" + name + "\\b");
        for (int line = from; line >= 0; line--) {
            Matcher found = declared.matcher(lines.get(line));
            if (found.find()) {
                return found.group(1) == null ? found.group(2) : found.group(1);
            }
        }
        // Without a declaration, the name is a lambda's parameter, a method or a constant. Today all of these hold
        // exceptions of this library.
        return "JcclException";
    }

    private static Set<String> ownExceptions() throws IOException {
        Set<String> found = new HashSet<>(Set.of("NotUsed"));
        Pattern declaration = Pattern.compile("class (\\w*(?:Exception|Error))\\b");
        for (Path file : sources()) {
            Matcher matcher = declaration.matcher(Files.readString(file));
            while (matcher.find()) {
                found.add(matcher.group(1));
            }
        }
        return found;
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(JAVA)) {
            return files.filter(file -> file.toString().matches("\\.\\./jccl[^/]*/src/main/java.*\\.java"))
                    .sorted()
                    .toList();
        }
    }
}
