package io.jccl.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A variable that NCCL or its users' scripts know.
 *
 * @param name of the variable
 * @param defaultText NCCL's documented default; empty where there is none
 * @param texts documented extremes, and what public job scripts set
 * @param reason why JCCL does not read it; empty where it does
 */
public record NcclVariable(String name, String defaultText, List<String> texts, String reason) {

    private static final String RESOURCE = "nccl-variables.txt";

    /** All of them in the order of NCCL's page. */
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
