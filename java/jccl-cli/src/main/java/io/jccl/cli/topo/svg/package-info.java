/**
 * Draws a topology report as SVG. {@link io.jccl.cli.topo.svg.Layout} says where everything lies,
 * {@link io.jccl.cli.topo.svg.Traces} where the channels run; the painters only draw what these two decided.
 */
package io.jccl.cli.topo.svg;
