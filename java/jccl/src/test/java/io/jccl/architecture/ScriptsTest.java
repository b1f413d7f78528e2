package io.jccl.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the scripts that run tests by name. Without it, a test that has moved fails only in the check that runs it. */
class ScriptsTest {

    private static final Path ROOT = Path.of("../..");

    /** A class of tests or a program, with its package or a part of it if the script names that. */
    private static final Pattern NAMED = Pattern.compile("(?<![\\w./-])((?:[a-z0-9]+\\.)*[A-Z]\\w*(?:Test|Main))\\b");

    private static final Pattern SUITE = Pattern.compile("^TEST(?:_F|_P)?\\((\\w+),", Pattern.MULTILINE);

    private static final Set<String> OTHER_SOFTWARE = Set.of("GoogleTest");

    @Test
    void everyTestThatAScriptNamesExists() throws IOException {
        Set<String> known = new HashSet<>(OTHER_SOFTWARE);
        for (Path source : files("java", ".java")) {
            String path = ROOT.relativize(source).toString();
            String name = path.substring(0, path.length() - ".java".length()).replace('/', '.');
            for (int at = name.lastIndexOf('.'); at >= 0; at = name.lastIndexOf('.', at - 1)) {
                known.add(name.substring(at + 1));
            }
        }
        for (String folder : List.of("native", "cuda")) {
            for (Path source : files(folder, ".cc")) {
                SUITE.matcher(Files.readString(source)).results().forEach(suite -> known.add(suite.group(1)));
            }
        }

        Map<String, String> named = new TreeMap<>();
        for (String folder : List.of("scripts", ".ci")) {
            for (Path script : files(folder, "")) {
                Matcher names = NAMED.matcher(Files.readString(script));
                while (names.find()) {
                    named.put(names.group(1), ROOT.relativize(script).toString());
                }
            }
        }

        assertThat(named).containsKeys("io.jccl.chaos.ChaosMain", "status.StatusDirectoryTest", "SocketListenerTest");
        named.keySet().removeAll(known);
        assertThat(named).as("tests that scripts name and that do not exist").isEmpty();
    }

    private static List<Path> files(String folder, String end) throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve(folder))) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> file.toString().endsWith(end))
                    .filter(file -> !file.toString().contains("/target/"))
                    .toList();
        }
    }
}
