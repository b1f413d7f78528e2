package io.jccl.topology;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The host descriptions of the project's own tests. */
public final class DescribedHosts {

    public static final List<String> NAMES =
            List.of("host-2numa", "gpu4-nvswitch", "gpu2-virtual", "arm-c2c", "every-attribute");

    private DescribedHosts() {}

    public static String text(String name) {
        try (InputStream in = DescribedHosts.class.getResourceAsStream(name + ".xml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static Topology topology(String name) {
        return GraphBuilder.build(TopologyXmlReader.read(text(name)));
    }

    public static NodePaths paths(String name) {
        return NodePaths.compute(topology(name));
    }
}
