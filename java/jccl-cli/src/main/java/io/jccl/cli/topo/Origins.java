package io.jccl.cli.topo;

import io.jccl.topology.ElementType;
import io.jccl.topology.XmlElement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Lists the origins of node values that were not simply read from the system. The origins are those that the host's
 * description states.
 */
final class Origins {

    private final Set<String> shown;
    private final Map<String, Set<String>> namesByOrigin = new LinkedHashMap<>();

    private Origins(Set<String> shown) {
        this.shown = shown;
    }

    /** Returns a line for each origin with the nodes to which it applies, limited to the nodes of {@code host}. */
    static List<String> lines(XmlElement description, HostView host) {
        Origins origins = new Origins(Set.copyOf(host.names()));
        origins.collect(description, "");
        List<String> lines = new ArrayList<>();
        origins.namesByOrigin.forEach((origin, names) -> lines.add(together(names) + ": " + origin));
        return lines;
    }

    private void collect(XmlElement element, String busId) {
        String bus = element.text("busid").orElse(busId);
        element.text("origin").ifPresent(origin -> names(element, bus).stream()
                .filter(shown::contains)
                .forEach(name -> namesByOrigin
                        .computeIfAbsent(origin, key -> new LinkedHashSet<>())
                        .add(name)));
        element.children().forEach(child -> collect(child, bus));
    }

    /**
     * Returns the names of the nodes that an element stands for. A {@code pci} element also stands for the nodes of the
     * device in it.
     */
    private static List<String> names(XmlElement element, String busId) {
        return switch (element.type()) {
            case CPU -> List.of("CPU/" + element.text("numaid").orElse(""));
            case HOST -> List.of("HOST/" + element.text("rank").orElse(""));
            case GPU -> List.of("GPU/" + element.text("rank").orElse(""), "DEV/" + busId);
            case NET -> List.of("NET/" + element.text("dev").orElse(""));
            case NIC -> List.of("NIC/" + busId);
            case PCI -> {
                List<String> names = new ArrayList<>(List.of("PCI/" + busId));
                for (ElementType device : List.of(ElementType.GPU, ElementType.NIC)) {
                    element.children(device).forEach(child -> names.addAll(names(child, busId)));
                }
                yield names;
            }
            default -> List.of();
        };
    }

    /** Joins names; names that differ only in their number become one: {@code HOST/0-3}. */
    private static String together(Set<String> names) {
        Map<String, TreeSet<Integer>> numbers = new LinkedHashMap<>();
        List<String> words = new ArrayList<>();
        for (String name : names) {
            String number = name.substring(name.indexOf('/') + 1);
            if (number.matches("\\d{1,9}")) {
                numbers.computeIfAbsent(name.substring(0, name.indexOf('/') + 1), key -> new TreeSet<>())
                        .add(Integer.valueOf(number));
            } else {
                words.add(name);
            }
        }
        numbers.forEach((prefix, all) -> words.add(prefix + Numbers.ranges(List.copyOf(all))));
        return String.join(", ", words);
    }
}
