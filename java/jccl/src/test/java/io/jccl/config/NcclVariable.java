package io.jccl.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An environment variable that NCCL documents or that public job scripts set.
 *
 * @param name the name of the variable
 * @param defaultText NCCL's documented default; empty if it has none
 * @param texts documented extreme values, and values that public job scripts set
 * @param reason the reason why JCCL does not read the variable; empty if JCCL reads it
 */
public record NcclVariable(String name, String defaultText, List<String> texts, String reason) {

    private static final String RESOURCE = "nccl-variables.txt";

    /** Returns all variables in the order of the resource: first those that NCCL documents. */
    public static List<NcclVariable> all() {
        try (InputStream in = NcclVariable.class.getResourceAsStream(RESOURCE)) {
            List<NcclVariable> all = new ArrayList<>();
            for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
                if (line.startsWith("NCCL_")) {
                    all.add(of(line));
                }
            }
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static NcclVariable of(String line) {
        String[] cells = line.split("(?<= )\\|(?= |$)", -1);
        List<String> texts =
                Arrays.stream(cells[2].split(" ~ ")).map(String::strip).toList();
        return new NcclVariable(cells[0].strip(), cells[1].strip(), texts, cells[3].strip());
    }
}
