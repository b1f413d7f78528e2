package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The expected paths of a host, for comparison with the paths that are found.
 *
 * <p>The text of a table has lines such as {@code GPU/0,2-3 > NET/1 PXN 12}; {@code <>} stands for both directions.
 */
final class PathTable {

    private static final Pattern LINE = Pattern.compile("(\\w+)/(\\S+) (<?>) (\\w+)/(\\S+) (\\w+) (\\S+)");
    private static final double RELATIVE_ERROR = 1e-6;

    private final Map<String, Expected> rows = new LinkedHashMap<>();

    record Expected(String from, String to, PathType type, double bandwidthGBps) {
        private boolean fits(NodePath path) {
            return path.type() == type
                    && Math.abs(path.bandwidthGBps() - bandwidthGBps) <= RELATIVE_ERROR * bandwidthGBps;
        }
    }

    static PathTable ofResource(String name) {
        PathTable table = new PathTable();
        try (InputStream in = PathTable.class.getResourceAsStream(name)) {
            for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
                if (!line.startsWith("#")) {
                    table.addLine(line);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return table;
    }

    private void addLine(String line) {
        Matcher matcher = LINE.matcher(line);
        assertThat(matcher.matches()).as(line).isTrue();
        for (int from : numbers(matcher.group(2))) {
            for (int to : numbers(matcher.group(5))) {
                String one = matcher.group(1) + "/" + from;
                String other = matcher.group(4) + "/" + to;
                PathType type = PathType.valueOf(matcher.group(6));
                double bandwidth = Double.parseDouble(matcher.group(7));
                add(new Expected(one, other, type, bandwidth));
                if (matcher.group(3).equals("<>")) {
                    add(new Expected(other, one, type, bandwidth));
                }
            }
        }
    }

    void add(Expected row) {
        assertThat(rows.put(row.from + " " + row.to, row))
                .as(row + " is given twice")
                .isNull();
    }

    int size() {
        return rows.size();
    }

    private static List<Integer> numbers(String list) {
        List<Integer> numbers = new ArrayList<>();
        for (String part : list.split(",")) {
            String[] ends = part.split("-");
            for (int n = Integer.parseInt(ends[0]); n <= Integer.parseInt(ends[ends.length - 1]); n++) {
                numbers.add(n);
            }
        }
        return numbers;
    }

    /** Describes the paths that differ from the table, one line per path. */
    List<String> differences(NodePaths paths) {
        Topology topology = paths.topology();
        List<String> differences = new ArrayList<>();
        for (Expected row : rows.values()) {
            NodePath path = paths.path(
                    topology.find(row.from).orElseThrow(), topology.find(row.to).orElseThrow());
            if (!row.fits(path)) {
                differences.add(row + " but found " + path.type() + " " + path.bandwidthGBps() + " "
                        + path.via().stream()
                                .map(node -> topology.node(node).name())
                                .toList());
            }
        }
        return differences;
    }

    /** Returns the paths that the table lacks, of those from GPU to GPU, NET and CPU, and from NET to GPU. */
    List<String> missing(Topology topology) {
        List<String> missing = new ArrayList<>();
        for (int gpu : topology.indexesOf(NodeType.GPU)) {
            for (int to = 0; to < topology.size(); to++) {
                switch (topology.node(to).type()) {
                    case GPU, CPU -> require(topology, gpu, to, missing);
                    case NET -> {
                        require(topology, gpu, to, missing);
                        require(topology, to, gpu, missing);
                    }
                    case PCI, NVS, NIC, HOST -> {}
                }
            }
        }
        return missing;
    }

    private void require(Topology topology, int from, int to, List<String> missing) {
        String pair = topology.node(from).name() + " " + topology.node(to).name();
        if (from != to && !rows.containsKey(pair)) {
            missing.add(pair);
        }
    }
}
